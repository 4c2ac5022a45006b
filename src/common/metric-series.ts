/**
 * Counters and histograms of hot paths. prom-client checks, sorts and hashes the labels of each observation; these find
 * their series by one lookup, and the registry reads them like its own.
 */
import type { Metric, Registry } from 'prom-client'

interface MetricOptions<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly registry: Registry
}

type Labels<Label extends string> = Readonly<Record<Label, string | number>>

interface Value {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** Series by their label values. */
class Series<Label extends string, State> {
  readonly #names: readonly Label[]
  readonly #create: (labels: Labels<Label>) => State
  readonly #all = new Map<string | number, State>()

  constructor(names: readonly Label[], create: (labels: Labels<Label>) => State) {
    this.#names = names
    this.#create = create
  }

  of(labels: Labels<Label>): State {
    const [first, ...others] = this.#names as [Label, ...Label[]]
    let key = String(labels[first])
    for (const name of others) key += `\0${labels[name]}`
    let state = this.#all.get(key)
    if (state === undefined) {
      state = this.#create({ ...labels })
      this.#all.set(key, state)
    }
    return state
  }

  values(): readonly State[] {
    return [...this.#all.values()]
  }

  clear(): void {
    this.#all.clear()
  }
}

const register = <Label extends string>(metric: object, { registry }: MetricOptions<Label>): void =>
  registry.registerMetric(metric as Metric)

export class SeriesCounter<Label extends string> {
  readonly name: string
  readonly help: string
  readonly type = 'counter'
  readonly aggregator = 'sum'
  readonly #series: Series<Label, { readonly labels: Labels<Label>; value: number }>

  constructor(options: MetricOptions<Label>) {
    this.name = options.name
    this.help = options.help
    this.#series = new Series(options.labelNames, (labels) => ({ labels, value: 0 }))
    register(this, options)
  }

  inc(labels: Labels<Label>, by = 1): void {
    this.#series.of(labels).value += by
  }

  async get() {
    const { name, help, type, aggregator } = this
    const values: Value[] = this.#series.values().map(({ labels, value }) => ({ labels, value }))
    return { name, help, type, aggregator, values }
  }

  reset(): void {
    this.#series.clear()
  }
}

/** One series of a histogram. */
export interface Observer {
  observe(value: number): void
}

class Buckets implements Observer {
  readonly labels: Readonly<Record<string, string | number>>
  readonly #bounds: readonly number[]
  readonly counts: Float64Array
  count = 0
  sum = 0

  constructor(labels: Readonly<Record<string, string | number>>, bounds: readonly number[]) {
    this.labels = labels
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++
    if (at < this.counts.length) this.counts[at] = (this.counts[at] as number) + 1
    this.count++
    this.sum += value
  }
}

export class SeriesHistogram<Label extends string> {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly #bounds: readonly number[]
  readonly #series: Series<Label, Buckets>

  /** `buckets`: upper bounds, ascending. */
  constructor(options: MetricOptions<Label> & { readonly buckets: readonly number[] }) {
    this.name = options.name
    this.help = options.help
    this.#bounds = options.buckets
    this.#series = new Series(options.labelNames, (labels) => new Buckets(labels, options.buckets))
    register(this, options)
  }

  /** The series of these labels, for callers that observe it often. */
  of(labels: Labels<Label>): Observer {
    return this.#series.of(labels)
  }

  observe(labels: Labels<Label>, value: number): void {
    this.#series.of(labels).observe(value)
  }

  async get() {
    const { name, help, type, aggregator } = this
    const values: Value[] = this.#series.values().flatMap(({ labels, counts, count, sum }) => {
      let below = 0
      const buckets = this.#bounds.map((le, at) => {
        below += counts[at] as number
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below }
      })
      return [
        ...buckets,
        { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ]
    })
    return { name, help, type, aggregator, values }
  }

  reset(): void {
    this.#series.clear()
  }
}
