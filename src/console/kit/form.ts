import { type ApiError, asApiError } from '../api/problem.ts'
import { html, nothing, ref, type TemplateResult } from './html.ts'
import { problem } from './problem.ts'
import { batch, type ReadonlySignal, signal } from './signals.ts'

export interface FieldOptions {
  readonly label: string
  readonly hint?: TemplateResult | string
  readonly error?: string | undefined
  /** One input, select or textarea. */
  readonly control: TemplateResult
}

let last = 0
const ids = new WeakMap<Element, string>()

/** Connects the control of a field with its hint and its error. */
const describe = (element: Element | undefined): void => {
  if (element === undefined) return
  const id = ids.get(element) ?? `field-${++last}`
  ids.set(element, id)
  const control = element.querySelector('input, select, textarea')
  const notes = [...element.querySelectorAll(':scope > p')]
  for (const [index, note] of notes.entries()) note.id = `${id}-${index}`
  if (notes.length === 0) control?.removeAttribute('aria-describedby')
  else control?.setAttribute('aria-describedby', notes.map((note) => note.id).join(' '))
  control?.setAttribute('aria-invalid', String(element.querySelector(':scope > .error') !== null))
}

/** A labelled control with a hint and an error below it. */
export const field = ({ label, hint, error, control }: FieldOptions): TemplateResult => html`<div
  class="field"
  ${ref((element) => queueMicrotask(() => describe(element)))}
>
  <label><span>${label}</span>${control}</label>
  ${hint === undefined ? nothing : html`<p class="hint">${hint}</p>`}
  ${error === undefined || error === '' ? nothing : html`<p class="error">${error}</p>`}
</div>`

/** Sentences of an error about one member of the input: `name`, `rules[0].container`. */
export const issue = (error: ApiError | undefined, place: string): string | undefined =>
  error?.issues[place]?.join(' ')

/** An error above a form: in one block, with the sentences that no field in `places` shows. */
export const formProblem = (
  error: ApiError | undefined,
  places: readonly string[] = [],
): TemplateResult | typeof nothing => {
  if (error === undefined) return nothing
  const others = Object.entries(error.issues).filter(([place]) => !places.includes(place))
  return html`${problem(error)}
  ${
    others.length === 0
      ? nothing
      : html`<ul class="issues">
          ${others.map(([place, sentences]) => html`<li><code>${place}</code> ${sentences.join(' ')}</li>`)}
        </ul>`
  }`
}

export interface Action {
  /** For `?disabled` of its button. */
  readonly busy: ReadonlySignal<boolean>
  /** Of the last run. */
  readonly error: ReadonlySignal<ApiError | undefined>
  /** Runs unless it runs already. For `@submit` and `@click`: prevents what the browser would do. */
  run(event?: Event): Promise<void>
  reset(): void
}

/** Something that a button does. */
export const action = (work: () => Promise<void>): Action => {
  const busy = signal(false)
  const error = signal<ApiError | undefined>(undefined)
  return {
    busy,
    error,
    reset: () => {
      error.value = undefined
    },
    run: async (event) => {
      event?.preventDefault()
      if (busy.peek()) return
      batch(() => {
        busy.value = true
        error.value = undefined
      })
      try {
        await work()
      } catch (thrown) {
        error.value = asApiError(thrown)
      } finally {
        busy.value = false
      }
    },
  }
}
