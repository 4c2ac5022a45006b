import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Axis, lineChart } from './plot.ts'

/** One measured stretch: latencies in ms, CPU ms of all processes a request. */
export interface Figure {
  readonly name: string
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMs: number
  readonly failures: number
}

const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`

/** A table in Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

const file = (folder: string, name: string): string => {
  const directory = join(import.meta.dirname, folder)
  mkdirSync(directory, { recursive: true })
  return join(directory, name)
}

/** Keeps results as JSON beside the bench. */
export const keep = (name: string, results: unknown): void =>
  writeFileSync(file('results', `${name}.json`), `${JSON.stringify(results, null, 1)}\n`)

/** Keeps a plot beside the bench. */
export const plot = (name: string, chart: Parameters<typeof lineChart>[0]): void =>
  writeFileSync(file('plots', `${name}.svg`), lineChart(chart))

/** Prints the figures as a table, keeps them, and draws `value` against `at`, a line for each name. */
export const report = <F extends Figure & { readonly at: number }>(
  name: string,
  given: {
    readonly title: string
    readonly x: Axis
    readonly y: Axis
    readonly figures: readonly F[]
    readonly value: (figure: F) => number
  },
): void => {
  const { title, x, y, figures, value } = given
  keep(name, figures)
  const names = [...new Set(figures.map((figure) => figure.name))]
  plot(name, {
    title,
    x,
    y,
    series: names.map((each) => ({
      name: each,
      points: figures
        .filter((figure) => figure.name === each)
        .map((figure) => [figure.at, value(figure)] as const),
    })),
  })
  const text = table(
    [x.label, '', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms a request', y.label, 'failed'],
    figures.map((figure) => [
      figure.at.toLocaleString('en'),
      figure.name,
      Math.round(figure.perSecond).toLocaleString('en'),
      figure.p50.toFixed(2),
      figure.p99.toFixed(2),
      figure.cpuMs.toFixed(3),
      value(figure).toFixed(3),
      figure.failures,
    ]),
  )
  process.stdout.write(`${title}\n\n${text}\n\n`)
}
