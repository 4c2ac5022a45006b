import type { ApiError } from '../../api/client.ts'
import { field, select, valueIn } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import { notice } from '../../kit/notice.ts'

const FIELD_PLACES =
  /^(name|type|permissions|expires_at|response_guard|allowed_origins|(rules\[\d+\]\.)?destinations(\[\d+\]\.(host|ports|methods|path|surfaces))?|rules\[\d+\]\.(description|container|transform|permissions|priority))(\[\d+\])?$/

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

/** A draft, or a part of it, and how it changes. */
export interface Editor<D> {
  readonly value: D
  readonly error: ApiError | undefined
  /** Place of the part in the request, and id of its first field: `rules[0]`; `''` for all of it. */
  readonly at: string
  change(part: Partial<D>): void
}

export const placeIn = (at: string, member: string): string => (at === '' ? member : `${at}.${member}`)

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

export const fieldsOf = <D extends object>(
  fields: readonly Field<D>[],
  { value: draft, error, at, change }: Editor<D>,
): readonly TemplateResult[] =>
  fields.map(({ member, label, hint = '', choices, type = 'text', list, most, placeholder }, index) => {
    const value = draft[member] as string
    const set = (text: string) => change({ [member]: text } as Partial<D>)
    const input = () => html`<input
      id=${(index === 0 && at) || nothing}
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
    return field({
      label,
      ...(hint === '' ? {} : { hint }),
      error: issuesAt(error, placeIn(at, member)),
      control: choices === undefined ? input() : select({ value, choices, set }),
    })
  })

/** Focuses the first of these ids that can have it, after the page was rendered; opens what hides it. */
export const focus = (...ids: readonly string[]): void => {
  const elements = ids.map((id) => document.getElementById(id))
  const element = elements.find((element) => element !== null && !element.matches(':disabled'))
  element?.closest('details')?.setAttribute('open', '')
  element?.focus()
}

interface Rows<R> {
  /** What the list belongs to, behind the name of a row: ` of rule 1`. */
  readonly owner?: string
  /** Rows that the list may have. */
  readonly max: number
  /** Text of an empty list. */
  readonly none: string
  /** The list with another row at its end. */
  readonly add: (rows: readonly R[]) => readonly R[]
  /** The list with a row and its neighbour exchanged; absent: the order does not count. */
  readonly move?: (rows: readonly R[], index: number, by: -1 | 1) => readonly R[]
  readonly view: (row: Editor<R>, number: number, buttons: TemplateResult) => TemplateResult
}

/** The list `member` of a draft: rows that are added, removed and moved, and the focus follows. */
export const rowsEditor = <R extends object, M extends 'rules' | 'destinations'>(
  { value, error, at, change }: Editor<Readonly<Record<M, readonly R[]>>>,
  member: M,
  { owner = '', max, none, add, move, view }: Rows<R>,
): TemplateResult => {
  const rows = value[member]
  const place = placeIn(at, member)
  const noun = member.slice(0, -1)
  const wrong = issuesAt(error, place)
  const rowAt = (index: number) => `${place}[${index}]`
  const set = (next: readonly R[]) => change({ [member]: next } as Record<M, readonly R[]>)
  const append = () => {
    set(add(rows))
    focus(rowAt(rows.length))
  }
  const remove = (index: number) => {
    set(rows.toSpliced(index, 1))
    focus(rowAt(Math.min(index, rows.length - 2)), `add-${place}`)
    notice('info', `Removed ${noun} ${index + 1}${owner}.`)
  }
  const mover = (index: number, way: 'up' | 'down', by: -1 | 1) => {
    const run = () => {
      set(move?.(rows, index, by) ?? rows)
      focus(`${rowAt(index + by)}-${way}`, `${rowAt(index + by)}-${way === 'up' ? 'down' : 'up'}`)
      notice('info', `Moved ${noun} to place ${index + by + 1} of ${rows.length}.`)
    }
    return html`<button
      type="button"
      class="plain"
      id=${`${rowAt(index)}-${way}`}
      aria-label=${`Move ${noun} ${index + 1} ${way}`}
      ?disabled=${rows[index + by] === undefined}
      @click=${run}
    >
      ${icon(way)}
    </button>`
  }
  const item = (row: R, index: number) => {
    const buttons = html`${move === undefined ? nothing : [mover(index, 'up', -1), mover(index, 'down', 1)]}
      <button type="button" class="plain" aria-label=${`Remove ${noun} ${index + 1}${owner}`} @click=${() => remove(index)}>
        Remove
      </button>`
    const change = (part: Partial<R>) => set(rows.with(index, { ...row, ...part }))
    return html`<li>${view({ value: row, error, at: rowAt(index), change }, index + 1, buttons)}</li>`
  }
  return html`
    ${rows.length === 0 ? html`<p class="soft">${none}</p>` : html`<ol class="rows">${rows.map(item)}</ol>`}
    ${wrong === undefined ? nothing : html`<p class="issues">${wrong}</p>`}
    ${
      rows.length < max
        ? html`<div class="buttons">
            <button type="button" id=${`add-${place}`} aria-label=${`Add a ${noun}${owner}`} @click=${append}>Add a ${noun}</button>
          </div>`
        : html`<p class="soft">${max} ${member} are the most.</p>`
    }
  `
}
