import { type ApiError, asApiError } from '../api/problem.ts'
import { html, live, nothing, ref, type TemplateResult } from './html.ts'
import type { JsonObject } from './json.ts'
import { mergePatch } from './json-object.ts'
import { problem } from './problem.ts'
import { batch, type ReadonlySignal, signal } from './signals.ts'

interface FieldOptions {
  readonly label: TemplateResult | string
  readonly hint?: TemplateResult | string | undefined
  readonly error?: TemplateResult | string | undefined
  /** The control stands before its label, as checkboxes do. */
  readonly isCheck?: boolean
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
export const field = ({ label, hint, error, isCheck, control }: FieldOptions): TemplateResult => html`<div
  class=${isCheck ? 'field check' : 'field'}
  ${ref((element) => queueMicrotask(() => describe(element)))}
>
  <label>${isCheck ? control : nothing}<span>${label}</span>${isCheck ? nothing : control}</label>
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
export const choiceField = <T extends string>(
  options: Omit<FieldOptions, 'control'> & SelectOptions<T>,
): TemplateResult => field({ ...options, control: select(options) })

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

/** A field of a form, as data: how it looks, and how its value is read. */
export interface Field {
  /** Member of the form, of the entity, and of the body that is sent. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  /**
   * `number`: a text with the keypad of numbers; `area`: prose; `code`: lines, trimmed; `list`: texts between commas.
   * Default `text`.
   */
  readonly kind?: 'text' | 'email' | 'url' | 'number' | 'area' | 'code' | 'list' | 'checkbox'
  readonly required?: boolean
  /** Characters. */
  readonly max?: number
  readonly pattern?: string
  readonly placeholder?: string
  /** It is a `<select>` of these. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
  /** Control of an entity's id. The value is `{ id }`. */
  readonly control?: (id: string | undefined) => TemplateResult
  /** Place of its issues, where that is not its name. */
  readonly place?: string
}

/** The name of an entity. */
export const NAME: Field = { name: 'name', label: 'Name', required: true, max: 200 }

type Values = Readonly<Record<string, unknown>>

const placeOf = ({ name, control, place = control === undefined ? name : `${name}.id` }: Field) => place

const controlOf = (field: Field, value: unknown): TemplateResult => {
  const { name, kind = 'text', required = false, max, choices, control } = field
  if (control !== undefined) return control((value as { readonly id: string } | undefined)?.id)
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '')
  if (choices !== undefined) return select({ name, value: text, choices })
  if (kind === 'checkbox') return html`<input type="checkbox" name=${name} .checked=${value === true} />`
  if (kind === 'area' || kind === 'code')
    return html`<textarea
      name=${name}
      rows=${kind === 'area' ? 2 : 4}
      maxlength=${max ?? nothing}
      ?required=${required}
      autocomplete="off"
      spellcheck=${String(kind === 'area')}
      .value=${text}
    ></textarea>`
  return html`<input
    name=${name}
    type=${kind === 'email' || kind === 'url' ? kind : 'text'}
    inputmode=${kind === 'number' ? 'decimal' : nothing}
    maxlength=${max ?? nothing}
    pattern=${field.pattern ?? nothing}
    placeholder=${field.placeholder ?? nothing}
    ?required=${required}
    autocomplete="off"
    spellcheck="false"
    .value=${text}
  />`
}

/** Fields with their values, and what is wrong with each. */
export const fieldList = (
  fields: readonly Field[],
  values: Values = {},
  error?: ApiError,
): readonly TemplateResult[] =>
  fields.map((one) =>
    field({
      label: one.label,
      hint: one.hint,
      isCheck: one.kind === 'checkbox',
      error: issue(error, placeOf(one)),
      control: controlOf(one, values[one.name]),
    }),
  )

const readField = ({ name, kind, control }: Field, data: FormData): unknown => {
  if (kind === 'checkbox') return data.has(name)
  const text = String(data.get(name) ?? '')
  const trimmed = text.trim()
  if (kind === 'list') return trimmed.split(/\s*[,\n]\s*/).filter((part) => part !== '')
  if (control !== undefined) return trimmed === '' ? undefined : { id: trimmed }
  return (kind === 'code' ? trimmed : text) || undefined
}

const membersOf = (fields: readonly Field[], read: (field: Field) => unknown): JsonObject =>
  Object.fromEntries(
    fields.map((one) => [one.name, read(one)]).filter(([, value]) => value !== undefined && value !== ''),
  )

/** Members that the controls of the fields hold. Empty ones are left out. */
export const readFields = (fields: readonly Field[], data: FormData): JsonObject =>
  membersOf(fields, (one) => readField(one, data))

/** A merge patch of the members that the fields change; undefined without any. */
export const fieldChanges = (
  fields: readonly Field[],
  stored: Values,
  data: FormData,
): JsonObject | undefined => {
  const before = membersOf(fields, ({ name, control }) => {
    const value = stored[name]
    return control === undefined || value === undefined ? value : { id: (value as { id: string }).id }
  })
  return mergePatch(before, readFields(fields, data))
}

export interface FormOptions {
  readonly action: Action
  readonly fields: readonly Field[]
  readonly values?: Values
  /** Label of its button. */
  readonly submit: string
  /** Other buttons. */
  readonly buttons?: TemplateResult | typeof nothing
  /** Other controls, which show the issues of `places`. */
  readonly more?: (error: ApiError | undefined) => TemplateResult | typeof nothing
  readonly places?: readonly string[]
  /** False: the key may not change it. */
  readonly isAllowed?: boolean
}

/** A form of fields, with its error above and its buttons below. */
export const form = (options: FormOptions): TemplateResult => {
  const { action, fields, values, submit, buttons, more, places = [], isAllowed = true } = options
  const error = action.error.value
  return html`${formProblem(error, [...fields.map(placeOf), ...places])}
    <form @submit=${action.run}>
      <fieldset class="bare" ?disabled=${!isAllowed}>
        ${fieldList(fields, values, error)} ${more?.(error)}
        ${
          isAllowed
            ? html`<div class="buttons">
                <button class="primary" ?disabled=${action.busy.value}>${submit}</button>
                ${buttons ?? nothing}
              </div>`
            : html`<p class="soft">Your key may not change this.</p>`
        }
      </fieldset>
    </form>`
}
