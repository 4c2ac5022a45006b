import { html, type TemplateResult } from '../../kit/html.ts'
import { now, when } from '../../kit/time.ts'
import type { Certificate } from './types.ts'

/** ms before the end of a certificate from which it is marked. */
const SOON_MS = 30 * 86_400_000

/** When a certificate ends, marked in words when it did or will soon. */
export const ending = ({ expires_at }: Certificate): TemplateResult => {
  const left = Date.parse(expires_at) - now.value
  if (left <= 0) return html`<span class="badge bad">ended</span> ${when(expires_at)}`
  return left < SOON_MS
    ? html`<span class="badge warn">ends soon</span> ${when(expires_at)}`
    : html`ends ${when(expires_at)}`
}
