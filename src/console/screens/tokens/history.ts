import type { LogEntry } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { mayHoldData } from '../../kit/may-hold-data.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf } from '../../router.ts'
import { messageOf } from '../audit/rows.ts'

interface History {
  view(by: (actor: string) => TemplateResult): TemplateResult
  /** Ids of applications. */
  actors(): readonly string[]
  reload(): void
}

/** A token's audit records: needs `log:read`. */
export const createHistory = ({ api, signal }: ScreenContext, id: string): History => {
  const list = listOf<LogEntry>({ api, signal, path: '/logs', query: () => ({ entity_id: id }), size: 20 })
  return {
    reload: list.refresh,
    actors: () => list.rows.value.flatMap(({ actor_id }) => actor_id ?? []),
    view: (by) => html`${showList(list, (rows) =>
      table<LogEntry>({
        caption: 'History',
        rows,
        empty: 'No audit records of this token are retained.',
        columns: [
          { head: 'When', cell: (entry) => relativeTime(entry.created_at) },
          {
            head: 'What',
            kind: 'wide',
            cell: (record) =>
              html`${messageOf(record)} <span class="soft">${record.surfaces?.join(', ')}</span>`,
          },
          { head: 'By', cell: ({ actor_id }) => (actor_id === undefined ? 'anonymous' : by(actor_id)) },
        ],
      }),
    )}
      ${mayHoldData(id) ? nothing : html`<p><a href=${hashOf('/audit', { entity_id: id })}>These records in Audit</a></p>`}`,
  }
}
