import type { Api } from '../../api/client.ts'
import { path } from '../../api/client.ts'
import type { Token } from '../../api/types.ts'
import { confirm } from '../../kit/dialog.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { createRevealed, SHOWN_S } from '../../kit/revealed.ts'

interface Reveal {
  /** The button; the value while it is shown. */
  view(): TemplateResult
  hide(): void
}

/** Reads the value of a token, and shows it as `createRevealed` does. `onRead`: it is shown, and recorded. */
export const createReveal = (api: Api, id: string, within: AbortSignal, onRead: () => void): Reveal => {
  const revealed = createRevealed(['Value'], within)
  const reveal = action(async () => {
    const isSure = await confirm({
      title: 'Reveal the value?',
      body: html`<p>It is shown on this page for ${SHOWN_S} seconds. The audit log records that this key read it.</p>`,
      action: 'Reveal',
    })
    if (!isSure || within.aborted) return
    const { data } = await api.call<Token>('GET', path`/tokens/${id}`, { signal: within })
    if (data === undefined) return notice('info', 'This key sees no value of this token.')
    const shown = revealed.show(typeof data === 'string' ? data : JSON.stringify(data, null, 2))
    if (shown === undefined) return
    shown.focus()
    onRead()
  })
  return {
    hide: revealed.hide,
    view: () => {
      const error = reveal.error.value
      return html`${
        revealed.left.value === undefined
          ? html`<div class="buttons">
              <button
                type="button"
                ${ref(revealed.focusAfter)}
                ?disabled=${reveal.busy.value}
                @click=${(event: Event) => void reveal.run(event)}
              >
                Reveal …
              </button>
            </div>`
          : revealed.view()
      }${error === undefined ? nothing : problem(error)}`
    },
  }
}
