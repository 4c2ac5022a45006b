import type { Application, Destination, Rule } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { session } from '../../session.ts'
import { containerLabel } from './difference.ts'
import { destinationText } from './phrase.ts'

/** Time of an expiry, or "never". `note` follows the time. */
export const expiry = (at: string | undefined, note = ''): TemplateResult =>
  at === undefined
    ? html`<span class="soft">never</span>`
    : html`${relativeTime(at)} <span class="soft small">${note}</span>`

/** Names of permissions, which wrap between them. */
export const permissionNames = (permissions: readonly string[]): TemplateResult =>
  permissions.length === 0
    ? html`<span class="soft">none</span>`
    : html`<span class="names">${permissions.map((permission) => html`<code>${permission}</code> `)}</span>`

export const destinationNames = (list: readonly Destination[] | undefined): TemplateResult =>
  list === undefined
    ? html`<span class="soft">anywhere that egress allows</span>`
    : html`<ul class="plain">${list.map((destination) => html`<li><code>${destinationText(destination)}</code></li>`)}</ul>`

/** Rules in the order in which they are tried. */
export const rulesTable = (rules: readonly Rule[]): TemplateResult =>
  table({
    caption: 'Rules',
    rows: rules.toSorted((a, b) => a.priority - b.priority),
    columns: [
      { head: 'Priority', kind: 'number', cell: (rule) => rule.priority },
      {
        head: 'Container',
        cell: (rule) => html`<code title=${containerLabel(rule.container)}>${rule.container}</code>`,
      },
      { head: 'Disclosure', cell: (rule) => html`<span class="badge">${rule.transform}</span>` },
      { head: 'Permissions', cell: (rule) => permissionNames(rule.permissions) },
      { head: 'Description', cell: (rule) => rule.description },
      { head: 'Destinations', cell: (rule) => destinationNames(rule.destinations) },
    ],
    empty: 'No rules.',
  })

/** Whether a key of the application is signed in. */
export const isOwn = (id: string): boolean =>
  [session.value?.management, session.value?.private].some((identity) => identity?.application.id === id)

/** A change of the application that is signed in takes permissions from this very page. */
export const ownWarning = (
  { id, permissions }: Application,
  next: readonly string[],
): TemplateResult | typeof nothing => {
  const lost = permissions.filter((permission) => !next.includes(permission))
  if (!isOwn(id) || lost.length === 0) return nothing
  return html`<p class="warning"><strong>You are signed in with this application.</strong> You lose ${lost.join(', ')}.</p>`
}
