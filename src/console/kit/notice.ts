import { asApiError } from '../api/problem.ts'
import { button } from './button.ts'
import { html, nothing, repeat, type TemplateResult } from './html.ts'
import { icon } from './icon.ts'
import { signal } from './signals.ts'

type NoticeKind = 'done' | 'info' | 'warning' | 'error'

interface Notice {
  readonly id: number
  readonly kind: NoticeKind
  readonly text: string
}

/** ms after which a message disappears. Errors stay until they are dismissed. */
const SHOWN_MS = 6_000

const notices = signal<readonly Notice[]>([])
let last = 0

const dismiss = (id: number) => {
  notices.value = notices.value.filter((shown) => shown.id !== id)
}

/** A short message at the edge of the page, which screen readers read out. */
export const notice = (kind: NoticeKind, text: string): void => {
  const id = ++last
  notices.value = [...notices.value.slice(-3), { id, kind, text }]
  if (kind !== 'error') setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Waits for a call, and shows a notice: its error, or the text `done`. Resolves to true on success. */
export const notifyResult = async (work: Promise<unknown>, done?: string): Promise<boolean> => {
  try {
    await work
  } catch (thrown) {
    notice('error', asApiError(thrown).detail)
    return false
  }
  if (done !== undefined) notice('done', done)
  return true
}

/** The live region: always in the page, so that what enters it is announced. */
export const noticeRegion = (): TemplateResult => html`<div class="notices" role="status" aria-live="polite">
  ${repeat(
    notices.value,
    ({ id }) => id,
    ({ id, kind, text }) => html`<p class=${`notice ${kind}`}>
      <span>${kind === 'error' ? html`<strong>Error: </strong>` : nothing}${text}</span>
      ${button(icon('close'), () => dismiss(id), { name: 'Dismiss', kind: 'plain' })}
    </p>`,
  )}
</div>`
