import type { Api } from '../../api/client.ts'
import { path } from '../../api/client.ts'
import type { Token } from '../../api/types.ts'
import { copyAndClear } from '../../kit/copy.ts'
import { confirm } from '../../kit/dialog.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { effect, signal } from '../../kit/signals.ts'
import { sessionStatus } from '../../session.ts'

/** s that a value is shown. */
const SHOWN_S = 30

interface Reveal {
  /** The button; the value while it is shown. */
  view(): TemplateResult
  hide(): void
}

/**
 * Shows the value of a token for 30 seconds, in one text node that no template, signal or closure knows. Leaving the
 * screen or the tab, the end of the session and a button hide it. `onRead`: it is shown, and recorded.
 */
export const createReveal = (api: Api, id: string, within: AbortSignal, onRead: () => void): Reveal => {
  /** s left; 'reading': the value is on its way; undefined: hidden. */
  const left = signal<number | 'reading' | undefined>(undefined)
  let element: Element | undefined
  let button: Element | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let request: AbortController | undefined
  const bindElement = (bound: Element | undefined) => {
    // The view of the token was replaced, e.g. by an error.
    if (bound === undefined && left.peek() !== undefined) {
      element?.replaceChildren()
      queueMicrotask(hide)
    }
    element = bound
  }
  const bindButton = (bound: Element | undefined) => {
    button = bound
  }

  const hide = () => {
    clearInterval(timer)
    request?.abort()
    if (left.peek() === undefined) return
    const hadFocus = element?.parentElement?.contains(document.activeElement) === true
    // The node is emptied before it leaves the page.
    element?.replaceChildren()
    left.value = undefined
    if (hadFocus && button instanceof HTMLElement) button.focus()
  }

  const show = async (own: AbortController): Promise<void> => {
    const { data } = await api.call<Token>('GET', path`/tokens/${id}`, { signal: own.signal })
    if (own.signal.aborted || document.hidden || data === undefined || !(element instanceof HTMLElement)) {
      hide()
      if (data === undefined) notice('info', 'This key sees no value of this token.')
      return
    }
    element.textContent = typeof data === 'string' ? data : JSON.stringify(data, null, 2)
    left.value = SHOWN_S
    element.focus()
    onRead()
    const end = Date.now() + SHOWN_S * 1_000
    timer = setInterval(() => {
      const seconds = Math.ceil((end - Date.now()) / 1_000)
      if (seconds <= 0) hide()
      else left.value = seconds
    }, 250)
  }

  const reveal = action(async () => {
    const isSure = await confirm({
      title: 'Reveal the value?',
      body: html`<p>It is shown on this page for ${SHOWN_S} seconds. The audit log records that this key read it.</p>`,
      action: 'Reveal',
    })
    if (!isSure || within.aborted) return
    hide()
    request = new AbortController()
    left.value = 'reading'
    try {
      await show(request)
    } catch (thrown) {
      const isHidden = request.signal.aborted
      hide()
      if (!isHidden) throw thrown
    }
  })

  const hideIfHidden = () => {
    if (document.hidden) hide()
  }
  document.addEventListener('visibilitychange', hideIfHidden)
  addEventListener('pagehide', hide)
  const dispose = effect(() => {
    if (sessionStatus.value !== 'signed in') hide()
  })
  within.addEventListener('abort', () => {
    hide()
    dispose()
    document.removeEventListener('visibilitychange', hideIfHidden)
    removeEventListener('pagehide', hide)
  })

  const copyValue = async () => {
    try {
      await copyAndClear(element?.textContent ?? '', SHOWN_S)
      notice('warning', `Copied. This page clears the clipboard in ${SHOWN_S} seconds.`)
    } catch {
      notice('error', 'The browser denied copying. Select the value instead.')
    }
  }

  const revealedValue = (
    secondsLeft: number | 'reading',
  ): TemplateResult => html`<section class="revealed" aria-label="Revealed value">
    <pre tabindex="0" aria-label="Value" ${ref(bindElement)}></pre>
    <p class="countdown">
      <progress max=${SHOWN_S} value=${secondsLeft === 'reading' ? SHOWN_S : secondsLeft} aria-label="Time left"></progress>
      <span role="timer">${secondsLeft === 'reading' ? 'Reading …' : `Hidden in ${secondsLeft} s`}</span>
      <button type="button" ?disabled=${secondsLeft === 'reading'} @click=${() => void copyValue()}>Copy</button>
      <button type="button" class="primary" @click=${hide}>Hide</button>
    </p>
  </section>`

  return {
    hide,
    view: () => {
      const secondsLeft = left.value
      const error = reveal.error.value
      return html`${
        secondsLeft === undefined
          ? html`<div class="buttons">
              <button
                type="button"
                ${ref(bindButton)}
                ?disabled=${reveal.busy.value}
                @click=${(event: Event) => void reveal.run(event)}
              >
                Reveal …
              </button>
            </div>`
          : revealedValue(secondsLeft)
      }${error === undefined ? nothing : problem(error)}`
    },
  }
}
