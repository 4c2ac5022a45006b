import { type ApiError, asApiError } from '../api/problem.ts'
import { html, live, nothing, ref, type TemplateResult } from './html.ts'
import { problem } from './problem.ts'
import { batch, type ReadonlySignal, signal } from './signals.ts'

interface FieldOptions {
  readonly label: string
  readonly hint?: TemplateResult | string
  readonly error?: TemplateResult | string | undefined
  /** An input, select or textarea. */
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

/** Value of the control that an event comes from. */
export const valueIn = (event: Event): string => (event.target as HTMLInputElement | HTMLSelectElement).value

interface SelectOptions<T extends string> {
  readonly value: T
  readonly choices: readonly (readonly [value: T, label: string])[]
  /** Called with a choice; the caller then updates `value`. Absent: the control holds it, as the form member `name`. */
  readonly set?: ((value: T) => void) | undefined
  readonly name?: string
  /** Name of the control for screen readers, where no label is shown. */
  readonly title?: string
  readonly disabled?: boolean
  /** Choices are loading. */
  readonly busy?: boolean
}

/** A `<select>`. With `set` it shows `value`, whatever was chosen. */
export const select = <T extends string>(options: SelectOptions<T>): TemplateResult => {
  const { value, choices, set, name, title, disabled = false, busy = false } = options
  const isChosen = (choice: T) => (set === undefined ? choice === value : live(choice === value))
  return html`<select
    name=${name ?? nothing}
    aria-label=${title ?? nothing}
    aria-busy=${busy ? 'true' : nothing}
    ?disabled=${disabled}
    @change=${(event: Event) => set?.(valueIn(event) as T)}
  >
    ${choices.map(([choice, label]) => html`<option value=${choice} .selected=${isChosen(choice)}>${label}</option>`)}
  </select>`
}

/** A labelled `<select>` with a hint and an error below it. */
export const choiceField = <T extends string>({
  label,
  hint,
  error,
  ...options
}: Omit<FieldOptions, 'control'> & SelectOptions<T>): TemplateResult =>
  field({ label, error, control: select(options), ...(hint === undefined ? {} : { hint }) })

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
  /** True while the action runs: for `?disabled` of its button. */
  readonly busy: ReadonlySignal<boolean>
  /** Error of the last run; undefined when it succeeded. */
  readonly error: ReadonlySignal<ApiError | undefined>
  /** Runs unless it runs already. For `@submit` and `@click`: prevents what the browser would do. */
  run(event?: Event): Promise<void>
  reset(): void
}

/** The action of a button: one run at a time, and the error of the last one. */
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

/** The action of a form, with the values of its controls. `run` is for `@submit`. */
export const formAction = (work: (fields: FormData, form: HTMLFormElement) => Promise<void>): Action => {
  let form: HTMLFormElement | undefined
  const own = action(async () => {
    if (form !== undefined) await work(new FormData(form), form)
  })
  return {
    ...own,
    run: (event) => {
      if (event !== undefined) form = event.currentTarget as HTMLFormElement
      return own.run(event)
    },
  }
}
