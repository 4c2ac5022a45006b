import { html, type TemplateResult } from '../../kit/html.ts'
import { relativeTime } from '../../kit/time.ts'
import { session } from '../../session.ts'

/** Time of an expiry, or "never". `note` follows the time. */
export const expiry = (at: string | undefined, note = ''): TemplateResult =>
  at === undefined
    ? html`<span class="soft">never</span>`
    : html`${relativeTime(at)} <span class="soft small">${note}</span>`

/** Whether a key of the application is signed in. */
export const isOwn = (id: string): boolean =>
  [session.value?.management, session.value?.private].some((identity) => identity?.application.id === id)
