import type { Eventual } from '../common/eventual.ts'
import type { Metrics } from '../common/metrics.ts'
import { inSpan, type Span } from '../common/tracing.ts'

const STAGES = ['authenticate', 'plan', 'use', 'apply', 'transform'] as const
export type Stage = (typeof STAGES)[number]

/** Runs a stage of a request and observes how long it took, also when it fails. */
export interface Timed {
  <T>(stage: Stage, work: () => Promise<T>): Promise<T>
  <T>(stage: Stage, work: () => Eventual<T>): Eventual<T>
}

/** Milliseconds of a request's stages. */
export type Stages = Partial<Record<Stage, number>>

/** Runs `work`, and `done` when it is over. */
const timing = <T>(work: () => Eventual<T>, done: (ms: number) => void): Eventual<T> => {
  const start = performance.now()
  let result: Eventual<T> | undefined
  try {
    result = work()
    return result instanceof Promise ? result.finally(() => done(performance.now() - start)) : result
  } finally {
    if (!(result instanceof Promise)) done(performance.now() - start)
  }
}

/** Makes the `Timed` of a request, which notes the milliseconds of each stage in `stages`, and adds it to `span`. */
export const createTimed = ({ stage }: Metrics): ((stages: Stages, span?: Span) => Timed) => {
  const observers = new Map(
    STAGES.map((name) => {
      const observed = stage.labels({ stage: name })
      return [name, (ms: number) => observed.observe(ms / 1000)]
    }),
  )
  return (stages, span) =>
    <T>(name: Stage, work: () => Eventual<T>) => {
      const traced = span === undefined ? work : () => inSpan(span, name, work)
      return timing(traced, (ms) => {
        observers.get(name)?.(ms)
        stages[name] = Math.round(ms * 1_000) / 1_000
      }) as Promise<T>
    }
}
