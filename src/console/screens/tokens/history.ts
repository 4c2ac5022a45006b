import type { LogEntry } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { createNames } from '../../kit/names.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { when } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'

type Entry = LogEntry & { readonly surfaces?: readonly string[] }

/** A token's audit records: needs `log:read`. */
export const createHistory = (
  { api, signal }: ScreenContext,
  id: string,
): { readonly view: () => TemplateResult; readonly reload: () => void } => {
  const names = createNames(api, signal)
  const list = listOf<Entry>({ api, signal, path: '/logs', query: () => ({ entity_id: id }), size: 20 })
  const actor = ({ actor_id: by, actor_type: type }: Entry): TemplateResult =>
    by === undefined
      ? html`<span class="soft">anonymous</span>`
      : type === 'application'
        ? html`<a href=${link`/applications/${by}`}>${names(by) ?? html`<code>${by.slice(0, 8)}</code>`}</a>`
        : html`${type} <code>${by.slice(0, 8)}</code>`
  return {
    reload: list.refresh,
    view: () => html`${showList(list, (rows) =>
      table<Entry>({
        caption: 'History',
        rows,
        empty: 'No audit records of this token are retained.',
        columns: [
          { head: 'When', cell: (entry) => when(entry.created_at) },
          {
            head: 'What',
            kind: 'wide',
            cell: ({ message, surfaces }) =>
              html`${message}${surfaces === undefined ? '' : ` (${surfaces.join(', ')})`}`,
          },
          { head: 'By', cell: actor },
        ],
      }),
    )}
      <p><a href=${hashOf('/audit', { entity_id: id })}>All records in Audit</a></p>`,
  }
}
