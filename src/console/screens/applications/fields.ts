import type { ApiError } from '../../api/client.ts'
import { field } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { PermissionInfo } from './types.ts'

const FIELD_PLACES =
  /^(name|type|permissions|expires_at|(rules\[\d+\]\.)?destinations(\[\d+\]\.(host|ports|methods|path|surfaces))?|rules\[\d+\]\.(description|container|transform|permissions|priority))(\[\d+\])?$/

/** Members whose sentences stand at a field of the form of an application. */
export const fieldPlaces = (error: ApiError | undefined): readonly string[] =>
  Object.keys(error?.issues ?? {}).filter((place) => FIELD_PLACES.test(place))

/** Sentences about a member and the items of its list. */
export const issuesAt = (error: ApiError | undefined, place: string): string | undefined => {
  const sentences = Object.entries(error?.issues ?? {})
    .filter(([at]) => at.startsWith(place) && /^(\[\d+\])?$/.test(at.slice(place.length)))
    .flatMap(([, types]) => types)
  return sentences.length === 0 ? undefined : [...new Set(sentences)].join(' ')
}

interface FieldLabel {
  readonly label: string
  readonly hint?: string
  readonly error?: string | undefined
}

/** A line of text. */
export const textField = ({
  value,
  set,
  id,
  type = 'text',
  list,
  most,
  placeholder,
  ...options
}: FieldLabel & {
  readonly value: string
  set(value: string): void
  readonly id?: string | undefined
  readonly type?: 'text' | 'datetime-local'
  /** Id of its suggestions. */
  readonly list?: string
  /** Characters. */
  readonly most?: number
  readonly placeholder?: string
}): TemplateResult =>
  field({
    ...options,
    control: html`<input
      id=${id ?? nothing}
      type=${type}
      list=${list ?? nothing}
      maxlength=${most ?? nothing}
      placeholder=${placeholder ?? nothing}
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      .value=${live(value)}
      @input=${(event: Event) => set((event.target as HTMLInputElement).value)}
    />`,
  })

/** A box for each permission that the type of the application allows, and for those that are held. */
export const permissionBoxes = ({
  isTitled,
  available,
  granted,
  error,
  note,
  set,
}: {
  /** False: a heading above is the title. */
  readonly isTitled: boolean
  readonly available: readonly PermissionInfo[]
  readonly granted: readonly string[]
  readonly error: string | undefined
  /** Said beside a permission. */
  readonly note?: (permission: string) => string
  set(held: readonly string[]): void
}): TemplateResult => {
  const others = granted.filter((type) => !available.some((info) => info.type === type))
  const all = [
    ...available,
    ...others.map((type) => ({ type, description: 'Not allowed for this type of application' })),
  ]
  const toggle = (type: string) => (event: Event) => {
    const rest = granted.filter((permission) => permission !== type)
    set((event.target as HTMLInputElement).checked ? [...rest, type] : rest)
  }
  return html`<fieldset class=${isTitled ? 'boxes' : 'boxes untitled'}>
    <legend class=${isTitled ? '' : 'visually-hidden'}>Permissions</legend>
    ${all.map(
      ({ type, description }) => html`<label class="box">
        <input type="checkbox" .checked=${live(granted.includes(type))} @change=${toggle(type)} />
        <span><code>${type}</code> <span class="soft small">${description}${note?.(type)}</span></span>
      </label>`,
    )}
    ${error === undefined ? nothing : html`<p class="error">${error}</p>`}
  </fieldset>`
}

/** Focuses the first of these ids that can have it, after the page was rendered. */
export const focus = (...ids: readonly string[]): void => {
  for (const id of ids) {
    const element = document.getElementById(id)
    if (element === null || (element instanceof HTMLButtonElement && element.disabled)) continue
    element.focus()
    return
  }
}
