import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { count } from '../../kit/numbers.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type Column, table } from '../../kit/table.ts'
import { link } from '../../router.ts'
import { type AccessRow, groupsOf, loadAccess } from './access-entries.ts'
import { TOKEN_NOT_FOUND } from './types.ts'

/** The rule that decides, or the permission. */
const reason = ({ rule, permissions }: AccessRow): TemplateResult => {
  if (rule === undefined || rule === null)
    return html`permission ${permissions.map((permission) => html`<code>token:${permission}</code> `)}`
  const where =
    rule.container ??
    rule.conditions
      ?.map((condition) => `${condition.attribute} ${condition.operator} ${condition.value}`)
      .join(', ')
  return html`rule ${rule.priority}${rule.description ? html` “${rule.description}”` : nothing}: <code>${rule.transform}</code>
    in <code>${where}</code>${rule.destinations === undefined ? nothing : html`, to ${rule.destinations.map(({ host }) => host).join(', ')} only`}`
}

const throughOf = ({ through }: AccessRow): TemplateResult => {
  if (through === undefined) return html`its key`
  const name = through.name ?? through.id.slice(0, 8)
  if (through.type === 'proxy') return html`proxy <a href=${link`/proxies/${through.id}`}>${name}</a>`
  if (through.type === 'reactor') return html`reactor <a href=${link`/reactors/${through.id}`}>${name}</a>`
  return html`session <code>${name}</code>`
}

const columns: readonly Column<AccessRow>[] = [
  {
    head: 'Application',
    cell: ({ application: { id, name, type } }) =>
      html`<a href=${link`/applications/${id}`}>${name}</a> <span class="soft">${type}</span>`,
  },
  { head: 'Through', cell: throughOf },
  {
    head: 'May',
    cell: ({ permissions }) => html`<span class="one-line">${permissions.join(', ')}</span>`,
  },
  { head: 'Because of', kind: 'wide', cell: reason },
]

/** "Who can see it and through what": needs `application:read`. */
export const createAccess = ({ api, signal }: ScreenContext, id: string): (() => TemplateResult) => {
  const loaded = resource((own) => loadAccess(api, id, own), signal)
  return () => {
    const state = loaded.state.value
    if (state.kind === 'error' && state.error.status === 404)
      return html`<p class="empty">${TOKEN_NOT_FOUND}</p>`
    return show(loaded, ({ entries, total }) =>
      entries.length === 0
        ? html`<p class="empty">No key can see or use this token.</p>`
        : html`${entries.length === total ? nothing : html`<p role="status">These are ${count(entries.length)} of ${count(total)} ways. Look for others by their applications' rules.</p>`}
          ${groupsOf(entries).map(
            ({ title, about, rows }) => html`<div class="group">
                <h3>
                  ${title} <span class="badge">${new Set(rows.map(({ application }) => application.id)).size}</span>
                </h3>
                <p class="soft small">${about}</p>
              </div>
              ${table<AccessRow>({ caption: title, rows, columns })}`,
          )}`,
    )
  }
}
