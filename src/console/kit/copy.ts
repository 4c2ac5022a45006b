import { button } from './button.ts'
import { dialog } from './dialog.ts'
import { html, type TemplateResult } from './html.ts'
import { icon } from './icon.ts'
import { notice } from './notice.ts'

/** Ends the clearing of the clipboard that is due. */
let pendingClear = new AbortController()

/**
 * Copies a text, and clears the clipboard after so many seconds, unless the page copies something else before. A
 * browser may deny that to a page without focus, or without a click: it is repeated with each of them until it
 * succeeds.
 */
export const copyAndClear = async (text: string, seconds: number): Promise<void> => {
  await navigator.clipboard.writeText(text)
  pendingClear.abort()
  pendingClear = new AbortController()
  const own = pendingClear
  const { signal } = own
  const clear = () => {
    void navigator.clipboard.writeText('').then(
      () => own.abort(),
      () => {},
    )
  }
  const timer = setTimeout(() => {
    addEventListener('focus', clear, { signal })
    addEventListener('click', clear, { signal })
    clear()
  }, seconds * 1_000)
  signal.addEventListener('abort', () => clearTimeout(timer))
  addEventListener('copy', () => own.abort(), { signal })
}

/** Copies text. Where the browser denies it, a dialog shows the text to copy by hand. */
export const copy = async (text: string, done = 'Copied.'): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text)
    pendingClear.abort()
    notice('done', done)
  } catch {
    await dialog({
      title: 'Copy this text',
      body: (close) => html`<pre tabindex="0">${text}</pre>
        <div class="buttons">${button('Close', () => close())}</div>`,
    })
  }
}

/** An id with a button that copies it. */
export const copyable = (text: string, what = 'id'): TemplateResult => html`<span class="copyable"
  ><code>${text}</code>${button(icon('copy'), () => copy(text), { name: `Copy ${what}`, kind: 'plain' })}</span>`
