import { html, nothing, repeat, type TemplateResult } from './html.ts'

export interface Column<T> {
  readonly head: string
  /** Text, a number or a template. */
  readonly cell: (row: T) => unknown
  /** `number`: right, in tabular figures; `code`: monospace; `wide`: takes what is left, and wraps. */
  readonly kind?: 'number' | 'code' | 'wide'
}

interface TableOptions<T> {
  /** Name of the table, for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  /** Instead of a table without rows: what to do next. */
  readonly empty?: TemplateResult | string
  /** Hash that a row opens. The first cell is the link; a click anywhere in the row follows it. */
  readonly link?: (row: T) => string | undefined
  /** Identity of a row, where rows move. */
  readonly key?: (row: T) => string
}

export const table = <T>({
  caption,
  columns,
  rows,
  empty = 'Nothing here.',
  link,
  key,
}: TableOptions<T>): TemplateResult => {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`
  const row = (item: T) => {
    const target = link?.(item)
    return html`<tr class=${target === undefined ? '' : 'linked'}>
      ${columns.map(({ cell, kind = '' }, index) =>
        index === 0
          ? html`<th scope="row" class=${kind}>
              ${target === undefined ? cell(item) : html`<a href=${target}>${cell(item)}</a>`}
            </th>`
          : html`<td class=${kind}>${cell(item) ?? nothing}</td>`,
      )}
    </tr>`
  }
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class="visually-hidden">${caption}</caption>
      <thead>
        <tr>${columns.map(({ head, kind = '' }) => html`<th scope="col" class=${kind}>${head}</th>`)}</tr>
      </thead>
      <tbody>${key === undefined ? rows.map(row) : repeat(rows, key, row)}</tbody>
    </table>
  </div>`
}
