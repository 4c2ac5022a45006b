import { copy } from './copy.ts'
import { dialog } from './dialog.ts'
import { html, type TemplateResult } from './html.ts'

/** Shows a new secret once; it leaves the page with the dialog. `what`: `Key`. */
export const showNewSecret = (options: {
  readonly title: string
  readonly what: string
  /** Text behind "This … is shown once." */
  readonly text: string
  /** Undefined: a repeated response, which no longer has it. */
  readonly secret: string | undefined
  /** What to do then. */
  readonly missing: string
}): Promise<void> =>
  dialog({
    title: options.title,
    body: (close): TemplateResult => {
      const { what, text, secret, missing } = options
      return secret === undefined
        ? html`<p>${missing}</p>
            <div class="buttons"><button type="button" class="primary" @click=${() => close()}>Close</button></div>`
        : html`<p><strong>This ${what.toLowerCase()} is shown once.</strong> ${text}</p>
            <pre class="new-key" tabindex="0" aria-label=${what}>${secret}</pre>
            <div class="buttons">
              <button type="button" @click=${() => void copy(secret, `${what} copied.`)}>Copy</button>
              <button type="button" class="primary" @click=${() => close()}>I have stored it</button>
            </div>`
    },
  })
