import { html, nothing, svg, type TemplateResult } from './html.ts'
import { table } from './table.ts'
import { exactTime } from './time.ts'

/** A time in ms, and a number; undefined: a gap. */
export type Point = readonly [at: number, value: number | undefined]

interface Series {
  readonly label: string
  readonly points: readonly Point[]
}

interface PlotOptions {
  readonly title: string
  /** The figure that the plot stands below; its scale reaches it. */
  readonly figure: number | undefined
  /** Up to three; the first has the accent colour, others differ by dashes as well. */
  readonly series: readonly Series[]
  /** A number as text, with its unit. */
  readonly format: (value: number) => string
  /** ms of the complete width. */
  readonly from: number
  readonly to: number
}

const WIDTH = 320
const HEIGHT = 72

/** A round number not below `value`: 1, 2 or 5 times a power of ten. */
const ceiling = (value: number): number => {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

/** `M x y L x y …`; a gap begins a new line. */
const lineOf = (
  points: readonly Point[],
  scale: { readonly from: number; readonly to: number; readonly top: number },
): string => {
  let isDrawing = false
  return points
    .flatMap(([at, value], index) => {
      if (value === undefined || at < scale.from) {
        isDrawing = false
        return []
      }
      const x = ((at - scale.from) / (scale.to - scale.from)) * WIDTH
      const y = HEIGHT - (value / scale.top) * HEIGHT
      // A point between gaps is a dot.
      const isAlone = !isDrawing && points[index + 1]?.[1] === undefined
      const part = `${isDrawing ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}${isAlone ? 'h0.01' : ''}`
      isDrawing = true
      return [part]
    })
    .join('')
}

/** A line for each series over time, with the same figures as a table. */
export const plot = ({ title, figure = 0, series, format, from, to }: PlotOptions): TemplateResult => {
  const values = series.flatMap(({ points }) =>
    points.flatMap(([, value]) => (value === undefined ? [] : [value])),
  )
  const top = ceiling(Math.max(0, figure, ...values))
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => b - a)
  return html`<figure class="plot" aria-label=${title}>
    <div class="drawing" aria-hidden="true">
      <span class="top">${format(top)}</span>
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        <path class="grid" d=${`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
        ${series.map(
          ({ points }, index) =>
            svg`<path class=${`line s${index}`} d=${lineOf(points, { from, to, top })} />`,
        )}
      </svg>
      ${
        series.length < 2
          ? nothing
          : html`<span class="legend">${series.map(({ label }, index) => html`<span class=${`s${index}`}>${label}</span>`)}</span>`
      }
    </div>
    <details>
      <summary>As a table</summary>
      ${table({
        caption: `Table: ${title}`,
        rows: times,
        columns: [
          { head: 'Time', cell: exactTime },
          ...series.map(({ label, points }) => ({
            head: label,
            kind: 'number' as const,
            cell: (time: number) => {
              const value = points.find(([at]) => at === time)?.[1]
              return value === undefined ? '–' : format(value)
            },
          })),
        ],
      })}
    </details>
  </figure>`
}

interface Bar {
  readonly label: string
  readonly value: number
  readonly href?: string
}

/** Rows with a bar each: a list that is its own table. */
export const bars = (
  caption: string,
  rows: readonly Bar[],
  format: (value: number) => string,
): TemplateResult => {
  const most = Math.max(1, ...rows.map(({ value }) => value))
  return html`<table class="bars">
    <caption class="visually-hidden">${caption}</caption>
    <tbody>
      ${rows.map(
        ({ label, value, href }) => html`<tr>
          <th scope="row">${href === undefined ? label : html`<a href=${href}>${label}</a>`}</th>
          <td class="bar" aria-hidden="true">
            <svg viewBox="0 0 100 8" preserveAspectRatio="none"><rect width=${(100 * value) / most} height="8" /></svg>
          </td>
          <td class="number">${format(value)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`
}
