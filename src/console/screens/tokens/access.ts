import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { count } from '../../kit/numbers.ts'
import { type Resource, resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type Column, table } from '../../kit/table.ts'
import { link } from '../../router.ts'
import { type AccessRow, groupsOf, loadAccess } from './access-entries.ts'

/** The rule that decides, or the permission. */
const reason = ({ rule, permissions }: AccessRow): TemplateResult => {
  if (rule === undefined || rule === null)
    return html`permission ${permissions.map((permission) => html`<code>token:${permission}</code> `)}`
  const { priority, description, transform, container, conditions, destinations } = rule
  const where =
    container ?? conditions?.map((one) => `${one.attribute} ${one.operator} ${one.value}`).join(', ')
  return html`rule ${priority}${description ? html` “${description}”` : nothing}: <code>${transform}</code> in
    <code>${where}</code>${destinations && html`, to ${destinations.map(({ host }) => host).join(', ')} only`}`
}

const throughOf = ({ through }: AccessRow): TemplateResult => {
  if (through === undefined) return html`its key`
  const { type, id, name = id.slice(0, 8) } = through
  return type === 'session'
    ? html`session <code>${name}</code>`
    : html`${type} <a href=${type === 'proxy' ? link`/proxies/${id}` : link`/reactors/${id}`}>${name}</a>`
}

const columns: readonly Column<AccessRow>[] = [
  {
    head: 'Application',
    cell: ({ application: { id, name, type } }) =>
      html`<a href=${link`/applications/${id}`}>${name}</a> <span class="soft">${type}</span>`,
  },
  { head: 'Through', cell: throughOf },
  { head: 'May', cell: ({ permissions }) => html`<span class="one-line">${permissions.join(', ')}</span>` },
  { head: 'Because of', kind: 'wide', cell: reason },
]

/** What belongs to a token, as `show` has it; a sentence when the token does not exist. */
export const showOfToken = <T>(source: Resource<T>, view: (value: T) => TemplateResult): TemplateResult => {
  const state = source.state.value
  return state.kind === 'error' && state.error.status === 404
    ? html`<p class="empty">This token does not exist. It was deleted or it expired, or its id is misspelled.</p>`
    : show(source, view)
}

/** "Who can see it and through what": needs `application:read`. */
export const createAccess = ({ api, signal }: ScreenContext, id: string): (() => TemplateResult) => {
  const loaded = resource((own) => loadAccess(api, id, own), signal)
  return () =>
    showOfToken(loaded, ({ entries, total }) => {
      if (entries.length === 0) return html`<p class="empty">No key can see or use this token.</p>`
      const shown = `These are ${count(entries.length)} of ${count(total)} ways.`
      return html`${
        entries.length === total
          ? nothing
          : html`<p role="status">${shown} Look for others by their applications' rules.</p>`
      }
      ${groupsOf(entries).map(
        ({ title, about, rows }) => html`<div class="group">
            <h3>${title} <span class="badge">${new Set(rows.map(({ application }) => application.id)).size}</span></h3>
            <p class="soft small">${about}</p>
          </div>
          ${table<AccessRow>({ caption: title, rows, columns })}`,
      )}`
    })
}
