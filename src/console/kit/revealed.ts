import { sessionStatus } from '../session.ts'
import { copyAndClear } from './copy.ts'
import { html, nothing, ref, type TemplateResult } from './html.ts'
import { notice } from './notice.ts'
import { effect, type ReadonlySignal, signal } from './signals.ts'

/** s that values are shown. */
export const SHOWN_S = 30

export interface Revealed {
  /** s left; undefined: hidden. */
  readonly left: ReadonlySignal<number | undefined>
  /**
   * Shows texts, in the order of the labels, in the place of those before. Returns the element of the first; undefined:
   * the view or the tab is not seen, so nothing is shown.
   */
  show(...texts: readonly string[]): HTMLElement | undefined
  hide(): void
  /** The texts while they are shown, with the time that is left. */
  view(): TemplateResult | typeof nothing
  /** For `ref`: the element that gets the focus when the texts had it and are hidden. */
  focusAfter(element: Element | undefined): void
}

/**
 * Shows texts with values for 30 seconds, each in one text node that no template, signal or closure knows. Leaving the
 * screen or the tab, the end of the session and a button hide them. `labels`: names of the texts; all but the first are
 * folded.
 */
export const createRevealed = (labels: readonly string[], within: AbortSignal): Revealed => {
  const left = signal<number | undefined>(undefined)
  let section: Element | undefined
  let next: Element | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  const nodes = () => [...(section?.querySelectorAll('pre') ?? [])]

  const hide = () => {
    clearInterval(timer)
    if (left.peek() === undefined) return
    const hadFocus = section?.contains(document.activeElement) === true
    // The nodes are emptied before they leave the page.
    for (const node of nodes()) node.replaceChildren()
    left.value = undefined
    if (hadFocus && next instanceof HTMLElement) next.focus()
  }
  const bindSection = (bound: Element | undefined) => {
    // The view was replaced, e.g. by an error.
    if (bound === undefined && left.peek() !== undefined) {
      for (const node of nodes()) node.replaceChildren()
      queueMicrotask(hide)
    }
    section = bound
  }

  const hideIfHidden = () => {
    if (document.hidden) hide()
  }
  document.addEventListener('visibilitychange', hideIfHidden, { signal: within })
  addEventListener('pagehide', hide, { signal: within })
  const dispose = effect(() => {
    if (sessionStatus.value !== 'signed in') hide()
  })
  within.addEventListener('abort', () => {
    hide()
    dispose()
  })

  const copyFirst = async () => {
    try {
      await copyAndClear(nodes()[0]?.textContent ?? '', SHOWN_S)
      notice('warning', `Copied. This page clears the clipboard in ${SHOWN_S} seconds.`)
    } catch {
      notice('error', 'The browser denied copying. Select the value instead.')
    }
  }

  return {
    left,
    hide,
    focusAfter: (element) => {
      next = element
    },
    show: (...texts) => {
      hide()
      if (within.aborted || document.hidden || sessionStatus.peek() !== 'signed in') return undefined
      left.value = SHOWN_S
      if (section === undefined) {
        left.value = undefined
        return undefined
      }
      for (const [index, node] of nodes().entries()) node.textContent = texts[index] ?? ''
      const end = Date.now() + SHOWN_S * 1_000
      timer = setInterval(() => {
        const seconds = Math.ceil((end - Date.now()) / 1_000)
        if (seconds <= 0) hide()
        else left.value = seconds
      }, 250)
      return nodes()[0]
    },
    view: () => {
      const seconds = left.value
      if (seconds === undefined) return nothing
      const text = (label: string) => html`<pre tabindex="0" aria-label=${label}></pre>`
      return html`<section class="revealed" aria-label="Revealed value" ${ref(bindSection)}>
        ${labels.map((label, index) => (index === 0 ? text(label) : html`<details><summary>${label}</summary>${text(label)}</details>`))}
        <p class="countdown">
          <progress max=${SHOWN_S} value=${seconds} aria-label="Time left"></progress>
          <span role="timer">Hidden in ${seconds} s</span>
          <button type="button" @click=${() => void copyFirst()}>Copy</button>
          <button type="button" class="primary" @click=${hide}>Hide</button>
        </p>
      </section>`
    },
  }
}
