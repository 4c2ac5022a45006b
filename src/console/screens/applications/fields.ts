import type { ApiError } from '../../api/client.ts'
import { field, select, valueIn } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { PermissionInfo } from './types.ts'

const FIELD_PLACES =
  /^(name|type|permissions|expires_at|response_guard|(rules\[\d+\]\.)?destinations(\[\d+\]\.(host|ports|methods|path|surfaces))?|rules\[\d+\]\.(description|container|transform|permissions|priority))(\[\d+\])?$/

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

/** A member of a draft that is a text, or a choice. */
export interface Field<D> {
  readonly member: keyof D & string
  readonly label: string
  readonly hint?: string
  /** Absent: a line of text. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
  readonly type?: 'datetime-local'
  /** Id of its suggestions. */
  readonly list?: string
  /** Characters. */
  readonly most?: number
  readonly placeholder?: string
}

/** A draft, or a part of it, and how it changes. */
export interface Editor<D> {
  readonly value: D
  readonly error: ApiError | undefined
  /** Beginning of the places of its members in the request: `rules[0].` */
  readonly at?: string
  /** Id of its first field. */
  readonly id?: string
  change(part: Partial<D>): void
}

export const fieldsOf = <D extends object>(
  fields: readonly Field<D>[],
  { value: draft, error, at = '', id, change }: Editor<D>,
): readonly TemplateResult[] =>
  fields.map(({ member, label, hint, choices, type = 'text', list, most, placeholder }, index) => {
    const value = draft[member] as string
    const set = (text: string) => change({ [member]: text } as Partial<D>)
    return field({
      label,
      ...(hint === undefined ? {} : { hint }),
      error: issuesAt(error, at + member),
      control:
        choices === undefined
          ? html`<input
              id=${index === 0 && id !== undefined ? id : nothing}
              type=${type}
              list=${list ?? nothing}
              maxlength=${most ?? nothing}
              placeholder=${placeholder ?? nothing}
              autocomplete="off"
              autocapitalize="off"
              spellcheck="false"
              .value=${live(value)}
              @input=${(event: Event) => set(valueIn(event))}
            />`
          : select({ value, choices, set }),
    })
  })

/** A box for each permission that the type of the application allows, and for those that are held. */
export const permissionBoxes = (
  known: readonly PermissionInfo[],
  { value: { permissions: granted }, error, at = '', change }: Editor<{ permissions: readonly string[] }>,
  /** `note`: said beside a permission. `isTitled` false: a heading above is the title. */
  { isTitled = true, note }: { isTitled?: boolean; note?: (permission: string) => string } = {},
): TemplateResult => {
  const others = granted.filter((type) => !known.some((info) => info.type === type))
  const all = [
    ...known,
    ...others.map((type) => ({ type, description: 'Not allowed for this type of application' })),
  ]
  const toggle = (type: string) => (event: Event) => {
    const rest = granted.filter((permission) => permission !== type)
    change({ permissions: (event.target as HTMLInputElement).checked ? [...rest, type] : rest })
  }
  const wrong = issuesAt(error, `${at}permissions`) ?? issuesAt(error, `${at}priority`)
  return html`<fieldset class="boxes">
    <legend class=${isTitled ? 'small' : 'visually-hidden'}>Permissions</legend>
    ${all.map(
      ({ type, description }) => html`<label class="box">
        <input type="checkbox" .checked=${live(granted.includes(type))} @change=${toggle(type)} />
        <span><code>${type}</code> <span class="soft small">${description}${note?.(type)}</span></span>
      </label>`,
    )}
    ${wrong === undefined ? nothing : html`<p class="issues">${wrong}</p>`}
  </fieldset>`
}

/** Focuses the first of these ids that can have it, after the page was rendered. */
export const focus = (...ids: readonly string[]): void => {
  const elements = ids.map((id) => document.getElementById(id))
  elements.find((element) => element !== null && !element.matches(':disabled'))?.focus()
}
