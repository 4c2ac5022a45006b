import { button } from './button.ts'
import { field, valueIn } from './form.ts'
import { html, nothing, ref, repeat, type TemplateResult } from './html.ts'
import { noticeRegion } from './notice.ts'
import { signal } from './signals.ts'

interface OpenDialog {
  readonly id: number
  readonly title: string
  readonly body: () => TemplateResult
  close(value?: unknown): void
  /** Opens the element, as soon as it is in the page. */
  readonly opened: (element: Element | undefined) => void
}

const dialogs = signal<readonly OpenDialog[]>([])
let last = 0

const showModal = (element: Element | undefined): void => {
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal()
  })
}

/** Gives the focus back to what had it before a dialog, unless something else got it. */
const restoreFocus = (before: Element | null | undefined): void => {
  setTimeout(() => {
    if (document.activeElement !== document.body || !(before instanceof HTMLElement)) return
    before.focus({ preventScroll: true })
  })
}

interface DialogOptions<T> {
  readonly title: string
  /** Content below the title. `close` ends the dialog with a value. */
  readonly body: (close: (value?: T) => void) => TemplateResult
}

/** A modal dialog. The value that it was closed with; undefined after Escape, and when the screen was left. */
export const dialog = <T = void>({ title, body }: DialogOptions<T>): Promise<T | undefined> =>
  new Promise((resolve) => {
    const id = ++last
    const before = globalThis.document?.activeElement
    const close = (value?: unknown) => {
      if (!dialogs.peek().some((dialog) => dialog.id === id)) return
      dialogs.value = dialogs.value.filter((dialog) => dialog.id !== id)
      restoreFocus(before)
      resolve(value as T | undefined)
    }
    dialogs.value = [
      ...dialogs.value,
      { id, title, body: () => body(close), close, opened: (element) => showModal(element) },
    ]
  })

/** Closes all dialogs, as navigation does. */
export const closeDialogs = (): void => {
  for (const dialog of dialogs.peek()) dialog.close()
}

/** True while a dialog is open; the rest of the page is inert. */
export const hasDialog = (): boolean => dialogs.value.length > 0

/** All open dialogs, for the shell. Messages appear in the uppermost, where they are seen and read out. */
export const dialogRegion = (): TemplateResult =>
  html`${repeat(
    dialogs.value,
    ({ id }) => id,
    (dialog) => html`<dialog
    aria-labelledby=${`dialog-${dialog.id}`}
    ${ref(dialog.opened)}
    @cancel=${(event: Event) => {
      event.preventDefault()
      dialog.close()
    }}
    @close=${() => dialog.close()}
  >
    <h2 id=${`dialog-${dialog.id}`}>${dialog.title}</h2>
    ${dialog.body()} ${dialog === dialogs.value.at(-1) ? noticeRegion() : nothing}
  </dialog>`,
  )}`

/** `requiredText` of an entity: its name where every letter can be typed, else the beginning of its id. */
export const confirmationText = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  /^[!-~](?:[ -~]{0,58}[!-~])?$/.test(name) && !name.includes('  ') ? name : id.slice(0, 8)

interface ConfirmOptions {
  readonly title: string
  readonly body?: TemplateResult | string
  /** Label of the button: `Delete`. */
  readonly action: string
  readonly danger?: boolean
  /** Text that has to be typed first. */
  readonly requiredText?: string
}

/** Asks for confirmation. Resolves to true when the user confirms. */
export const confirm = async ({
  title,
  body,
  action,
  danger,
  requiredText,
}: ConfirmOptions): Promise<boolean> => {
  const text = signal('')
  return (
    (await dialog<boolean>({
      title,
      body: (close) => html`<form
        method="dialog"
        @submit=${(event: Event) => {
          event.preventDefault()
          if (requiredText === undefined || text.value === requiredText) close(true)
        }}
      >
        ${typeof body === 'string' ? html`<p>${body}</p>` : (body ?? nothing)}
        ${
          requiredText === undefined
            ? nothing
            : field({
                label: html`Type <code>${requiredText}</code> to confirm`,
                control: html`<input
                  autocomplete="off"
                  spellcheck="false"
                  autofocus
                  @input=${(event: Event) => {
                    text.value = valueIn(event)
                  }}
                />`,
              })
        }
        <div class="buttons">
          ${button('Cancel', () => close(false))}
          <button class=${danger ? 'danger' : 'primary'} ?disabled=${requiredText !== undefined && text.value !== requiredText}>
            ${action}
          </button>
        </div>
      </form>`,
    })) === true
  )
}
