import { applicationNames } from '../../api/application-names.ts'
import type { LogEntry } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { resource } from '../../kit/resource.ts'
import type { Opened, Screen, ScreenContext } from '../../kit/screen.ts'
import { snippet } from '../../kit/snippet.ts'
import { type Column, table } from '../../kit/table.ts'
import { when } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { createChain } from './chain.ts'
import { entityLink } from './entity-link.ts'
import { createExport } from './export-button.ts'
import { type EntityType, filterForm, isFiltered, queryOf } from './filters.ts'

const linked = (hash: string | undefined, text: TemplateResult | string): TemplateResult =>
  hash === undefined ? html`${text}` : html`<a href=${hash}>${text}</a>`

const columns = (
  typeName: (type: string) => string,
  nameOf: (application: string) => string | undefined,
): readonly Column<LogEntry>[] => [
  { head: 'Time', cell: ({ created_at }) => when(created_at) },
  { head: 'Operation', cell: ({ operation }) => html`<span class="badge">${operation}</span>` },
  { head: 'Type', cell: ({ entity_type }) => typeName(entity_type) },
  {
    head: 'Entity',
    cell: ({ entity_type, entity_id }) =>
      linked(
        entityLink(entity_type, entity_id, may),
        (entity_type === 'application' ? nameOf(entity_id) : undefined) ?? html`<code>${entity_id}</code>`,
      ),
  },
  {
    head: 'Actor',
    cell: ({ actor_id, actor_type = '' }) =>
      actor_id === undefined
        ? html`<span class="soft">anonymous</span>`
        : linked(
            actor_type === 'application' ? entityLink('application', actor_id, may) : undefined,
            nameOf(actor_id) ?? html`<code>${actor_id}</code>`,
          ),
  },
  {
    head: 'Message',
    kind: 'wide',
    cell: ({ message, surfaces }) =>
      html`${message}${surfaces === undefined ? nothing : html` <span class="soft">in ${surfaces.join(', ')}</span>`}`,
  },
]

const open = (context: ScreenContext): Opened => {
  const { api, filters, signal } = context
  const list = listOf<LogEntry>({ ...context, path: '/logs', query: () => queryOf(filters.value) })
  const types = resource(
    (within) => api.call<readonly EntityType[]>('GET', '/logs/entity-types', { signal: within }),
    signal,
  )
  const names = applicationNames(
    api,
    () =>
      list.rows.value.flatMap(({ actor_type, actor_id, entity_type, entity_id }) => [
        ...(actor_type === 'application' && actor_id !== undefined ? [actor_id] : []),
        ...(entity_type === 'application' ? [entity_id] : []),
      ]),
    { isAllowed: may('application:read'), within: signal },
  )
  const chain = createChain(signal)
  const file = createExport(context)

  return {
    actions: () => html`${file.button()} ${snippet('GET', '/logs', { query: queryOf(filters.value) })}`,
    view: () => {
      const known = types.value.value ?? []
      const typeNames = new Map(known.map(({ value, display_name }) => [value, display_name]))
      const shown = columns(
        (type) => typeNames.get(type) ?? type,
        (id) => names.value.get(id),
      )
      return html`${chain()}
        <section aria-labelledby="records">
          <h2 id="records">Records</h2>
          ${filterForm(context, known)} ${file.status()}
          ${showList(list, (rows) =>
            table({
              caption: 'Audit records',
              columns: shown,
              rows,
              empty: isFiltered(queryOf(filters.value))
                ? 'No record has these properties. Change or clear the filters.'
                : 'No records yet. The first call that creates, reads or uses something writes one.',
            }),
          )}
        </section>`
    },
  }
}

export const auditScreens: readonly Screen[] = [
  { path: '/audit', title: 'Audit', nav: 'Audit', needs: (may) => may('log:read'), open },
]
