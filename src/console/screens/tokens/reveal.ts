import { type Api, path } from '../../api/client.ts'
import type { Token } from '../../api/types.ts'
import { confirm } from '../../kit/dialog.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { createRevealed, SHOWN_S } from '../../kit/revealed.ts'
import { dataText } from './cells.ts'

/**
 * A button that reads the value of a token, and the value as `createRevealed` shows it. `onRead`: it is shown, and
 * recorded.
 */
export const createReveal = (api: Api, id: string, within: AbortSignal, onRead: () => void) => {
  const { left, show, hide, view, focusAfter } = createRevealed(['Value'], within)
  const { run, busy, error } = action(async () => {
    const isSure = await confirm({
      title: 'Reveal the value?',
      body: html`<p>It is shown on this page for ${SHOWN_S} seconds. The audit log records that this key read it.</p>`,
      action: 'Reveal',
    })
    if (!isSure || within.aborted) return
    const { data } = await api.call<Token>('GET', path`/tokens/${id}`, { signal: within })
    if (data === undefined) return notice('info', 'This key sees no value of this token.')
    const shown = show(dataText(data, 2))
    if (shown === undefined) return
    shown.focus()
    onRead()
  })
  const button = () => html`<div class="buttons">
    <button type="button" ${ref(focusAfter)} ?disabled=${busy.value} @click=${run}>Reveal …</button>
  </div>`
  return {
    hide,
    view: (): TemplateResult => html`${left.value === undefined ? button() : view()}
      ${error.value === undefined ? nothing : problem(error.value)}`,
  }
}
