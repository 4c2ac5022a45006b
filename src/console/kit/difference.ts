import { guard, html, nothing, type TemplateResult } from './html.ts'
import { type DifferenceLine, type DifferenceRow, foldUnchanged, lineDifference } from './line-difference.ts'

/** Rows of a table. */
const MAX_ROWS = 2_000

const SIGNS = { added: '+', removed: '−', same: '' } as const

const rowOf = (row: DifferenceRow): TemplateResult =>
  row.kind === 'folded'
    ? html`<tr class="difference-folded"><td colspan="4">${row.count} unchanged lines</td></tr>`
    : html`<tr class="difference-${row.kind}">
        <td class="number">${row.before}</td>
        <td class="number">${row.after}</td>
        <td class="sign">
          ${
            row.kind === 'same'
              ? nothing
              : html`<span aria-hidden="true">${SIGNS[row.kind]}</span><span class="visually-hidden">${row.kind}</span>`
          }
        </td>
        <td><code>${row.text}</code></td>
      </tr>`

const lineEndingOf = (text: string): string => (text.includes('\r\n') ? 'CRLF' : 'LF')

const differenceTable = (before: string, after: string, caption: string): TemplateResult => {
  const lines = lineDifference(before, after)
  const count = (kind: DifferenceLine['kind']) => lines.filter((line) => line.kind === kind).length
  const [added, removed] = [count('added'), count('removed')]
  const rows = foldUnchanged(lines)
  const changed =
    before !== '' && after !== '' && lineEndingOf(before) !== lineEndingOf(after)
      ? html`<p>Line endings: ${lineEndingOf(before)} before, ${lineEndingOf(after)} after.</p>`
      : nothing
  if (added + removed === 0) return html`${changed}<p>${caption}: no line differs.</p>`
  return html`
    ${changed}
    <div class="difference">
      <table>
        <caption>${caption}: ${added} added, ${removed} removed</caption>
        <thead class="visually-hidden">
          <tr><th scope="col">Before</th><th scope="col">After</th><th scope="col">Change</th><th scope="col">Line</th></tr>
        </thead>
        <tbody>${rows.slice(0, MAX_ROWS).map(rowOf)}</tbody>
      </table>
      ${rows.length > MAX_ROWS ? html`<p>Only the first ${MAX_ROWS} of ${rows.length} rows are shown.</p>` : nothing}
    </div>
  `
}

/** Difference of two texts as a table, or a sentence when there is none. `caption` names both. Made once per text. */
export const difference = (before: string, after: string, caption: string): TemplateResult =>
  html`${guard([before, after, caption], () => differenceTable(before, after, caption))}`
