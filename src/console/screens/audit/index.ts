import { applicationNames } from '../../api/application-names.ts'
import type { LogEntry } from '../../api/types.ts'
import { hiddenFiltersNote } from '../../kit/hidden-filters.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { count } from '../../kit/numbers.ts'
import { resource } from '../../kit/resource.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { type Column, table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { createChain } from './chain.ts'
import { entityLink } from './entity-link.ts'
import { createExport } from './export-button.ts'
import { type EntityType, filterForm, isFiltered, queryOf } from './filters.ts'
import { type AuditRow, messageOf, rowsOf, summaryOf } from './rows.ts'

/** A name or an id, shortened by its look only, with a link where it has a page. */
const party = (id: string, name: string | undefined, hash: string | undefined): TemplateResult => {
  const text = name === undefined ? html`<code>${id}</code>` : html`${name}`
  return hash === undefined
    ? html`<span class="record-id" title=${id}>${text}</span>`
    : html`<a class="record-id" href=${hash} title=${id}>${text}</a>`
}

const said = (record: LogEntry): TemplateResult =>
  html`${messageOf(record)}${record.surfaces === undefined ? nothing : html` <span class="soft">in ${record.surfaces.join(', ')}</span>`}`

const columns = (nameOf: (application: string) => string | undefined): readonly Column<AuditRow>[] => [
  { head: 'Time', cell: ({ records: [{ created_at }] }) => relativeTime(created_at) },
  {
    head: 'Message',
    kind: 'wide',
    cell: ({ records }) =>
      records.length === 1
        ? said(records[0])
        : html`<details>
            <summary>${summaryOf(records)}</summary>
            <ul class="plain">
              ${records.map(
                (record) =>
                  html`<li>
                    ${party(record.entity_id, undefined, entityLink(record.entity_type, record.entity_id, may))}
                    ${said(record)}
                  </li>`,
              )}
            </ul>
          </details>`,
  },
  {
    head: 'Entity',
    cell: ({ records }) => {
      const [{ entity_type, entity_id }] = records
      const { size } = new Set(records.map((record) => record.entity_id))
      if (size > 1) return `${count(size)} tokens`
      return party(
        entity_id,
        entity_type === 'application' ? nameOf(entity_id) : undefined,
        entityLink(entity_type, entity_id, may),
      )
    },
  },
  {
    head: 'Actor',
    cell: ({ records: [{ actor_id, actor_type = '' }] }) =>
      actor_id === undefined
        ? html`<span class="soft">${actor_type || 'anonymous'}</span>`
        : party(
            actor_id,
            nameOf(actor_id),
            actor_type === 'application' ? entityLink('application', actor_id, may) : undefined,
          ),
  },
  {
    head: 'Operation',
    cell: ({ records: [{ operation }] }) => html`<span class="badge">${operation}</span>`,
  },
]

const open = (context: ScreenContext): ScreenInstance => {
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
      const tableColumns = columns((id) => names.value.get(id))
      const rows = showList(list, (entries) =>
        table({
          caption: 'Audit records',
          columns: tableColumns,
          rows: rowsOf(entries),
          key: ({ key }) => key,
          empty: isFiltered(queryOf(filters.value))
            ? 'No record has these properties. Change or clear the filters.'
            : 'No records yet. The first call that creates, reads or uses something writes one.',
        }),
      )
      return html`${chain()}
        ${section('records', 'Records', html`${filterForm(context, known, names.value)} ${hiddenFiltersNote(context)} ${file.status()} ${rows}`)}`
    },
  }
}

export const auditScreens: readonly Screen[] = [
  { path: '/audit', title: 'Audit', nav: 'Audit', needs: (may) => may('log:read'), open },
]
