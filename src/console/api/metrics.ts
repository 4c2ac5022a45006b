import { consoleHeader } from './client.ts'
import { problemOf } from './problem.ts'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Figures of `/metrics`. Names of ours without `sidevault_`, those of Node as they are. */
export interface Metrics {
  /** All samples of a name. */
  of(name: string): readonly Sample[]
  /** The sum of the samples with these labels; undefined without one. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

const LINE = /^(?:sidevault_)?(\w+)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

const numberOf = (text: string): number =>
  text === '+Inf' ? Number.POSITIVE_INFINITY : text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text)

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))

/** Samples of Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/). */
const parseMetrics = (text: string): Metrics => {
  const samples = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', value = ''] = LINE.exec(line) ?? []
    if (name === undefined) continue
    const pairs = [...labels.matchAll(LABEL)].map(
      ([, label = '', quoted = '']) => [label, unescaped(quoted)] as const,
    )
    const sample = { name, labels: Object.fromEntries(pairs), value: numberOf(value) }
    samples.get(name)?.push(sample) ?? samples.set(name, [sample])
  }
  const samplesOf = (name: string) => samples.get(name) ?? []
  return {
    of: samplesOf,
    sum: (name, labels = {}) => {
      const matching = samplesOf(name).filter((sample) =>
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )
      return matching.length === 0 ? undefined : matching.reduce((sum, { value }) => sum + value, 0)
    },
  }
}

/** The figures of the node that serves this page. */
export const loadMetrics = async (signal: AbortSignal): Promise<Metrics> => {
  const response = await fetch('/console/api/metrics', {
    signal,
    cache: 'no-store',
    headers: consoleHeader(true),
  })
  if (!response.ok) throw await problemOf(response)
  return parseMetrics(await response.text())
}
