import { button } from './button.ts'
import { copy } from './copy.ts'
import { html, type TemplateResult } from './html.ts'
import { signal } from './signals.ts'

/** A secret that the API returns, hidden until the user shows it. `what` names it: `Proxy key`. */
export const secretValue = (what: string): ((value: string) => TemplateResult) => {
  const isShown = signal(false)
  return (value) => html`<span class="copyable"
    ><code>${isShown.value ? value : '••••••••••••'}</code>
    <button
      type="button"
      class="plain"
      aria-pressed=${String(isShown.value)}
      aria-label=${`Show ${what}`}
      @click=${() => {
        isShown.value = !isShown.value
      }}
    >
      ${isShown.value ? 'Hide' : 'Show'}
    </button>
    ${button('Copy', () => copy(value), { name: `Copy ${what}`, kind: 'plain' })}</span>`
}
