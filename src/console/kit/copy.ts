import { dialog } from './dialog.ts'
import { html, type TemplateResult } from './html.ts'
import { notice } from './notice.ts'

/** Copies text. Where the browser denies it, a dialog shows the text to copy by hand. */
export const copy = async (text: string, done = 'Copied.'): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text)
    notice('done', done)
  } catch {
    await dialog({
      title: 'Copy this text',
      body: (close) => html`<pre tabindex="0">${text}</pre>
        <div class="buttons"><button type="button" @click=${() => close()}>Close</button></div>`,
    })
  }
}

/** An id with a button that copies it. */
export const copyable = (text: string, what = 'id'): TemplateResult => html`<span class="copyable"
  ><code>${text}</code
  ><button type="button" class="plain" aria-label=${`Copy ${what}`} @click=${() => void copy(text)}>⧉</button></span
>`
