import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { session } from '../../session.ts'
import type { Application } from './types.ts'

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
