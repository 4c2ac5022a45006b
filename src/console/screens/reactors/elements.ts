import type { ApiError } from '../../api/client.ts'
import { button } from '../../kit/button.ts'
import { issue, select, valueIn } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import type { Signal } from '../../kit/signals.ts'
import { type Column, table } from '../../kit/table.ts'
import { ELEMENT_TYPES, type Parameter } from './types.ts'

const EMPTY: Parameter = { name: '', type: 'string', optional: false }

/** Editor of declared values or arguments. `member` is that of the formula, for the places of issues. */
export const elementsEditor = ({
  member,
  legend,
  hint,
  rows,
  error,
}: {
  readonly member: 'configuration' | 'request_parameters'
  readonly legend: string
  readonly hint: string
  readonly rows: Signal<readonly Parameter[]>
  readonly error: ApiError | undefined
}): TemplateResult => {
  const change = (index: number, part: Partial<Parameter>) => {
    rows.value = rows.value.map((row, at) => (at === index ? { ...row, ...part } : row))
  }
  const text = (index: number, name: 'name' | 'description', label: string) => html`<input
    aria-label=${`${label} ${index + 1}`}
    autocomplete="off"
    .value=${live(rows.value[index]?.[name] ?? '')}
    @input=${(event: Event) => change(index, { [name]: valueIn(event) })}
  />`
  const issuesAt = (index: number) =>
    ['name', 'type', 'description'].flatMap((part) => issue(error, `${member}[${index}].${part}`) ?? [])
  type Row = Parameter & { readonly index: number }
  const columns: readonly Column<Row>[] = [
    {
      head: 'Name',
      cell: ({ index }) =>
        html`${text(index, 'name', 'Name')} <p class="issues">${issuesAt(index).join(' ')}</p>`,
    },
    {
      head: 'Type',
      cell: ({ index, type }) =>
        select({
          title: `Type ${index + 1}`,
          value: type,
          choices: ELEMENT_TYPES.map((type) => [type, type]),
          set: (next) => change(index, { type: next }),
        }),
    },
    { head: 'Description', kind: 'wide', cell: ({ index }) => text(index, 'description', 'Description') },
    {
      head: 'Optional',
      cell: ({ index, optional }) => html`<input
        type="checkbox"
        aria-label=${`Optional ${index + 1}`}
        .checked=${live(optional)}
        @change=${(event: Event) => change(index, { optional: (event.target as HTMLInputElement).checked })}
      />`,
    },
    {
      head: 'Remove',
      cell: ({ index }) => {
        const remove = () => {
          rows.value = rows.value.filter((_, at) => at !== index)
        }
        return button(icon('close'), remove, { name: `Remove ${index + 1}`, kind: 'plain' })
      },
    },
  ]
  return html`<fieldset class="elements">
    <legend>${legend}</legend>
    <p class="small soft">${hint}</p>
    ${
      rows.value.length === 0
        ? nothing
        : table({
            caption: legend,
            columns: columns.filter(({ head }) => member === 'request_parameters' || head !== 'Optional'),
            rows: rows.value.map((row, index) => ({ ...row, index })),
          })
    }
    ${button('Add', () => {
      rows.value = [...rows.value, EMPTY]
    })}
  </fieldset>`
}

/** Rows in the form that the API accepts. */
export const elementsOf = (rows: readonly Parameter[], member: 'configuration' | 'request_parameters') =>
  rows.map(({ name, type, description, optional }) => ({
    name: name.trim(),
    type,
    ...(description ? { description } : {}),
    ...(member === 'configuration' ? {} : { optional }),
  }))
