import type { Metrics } from '../common/metrics.ts'

const STAGES = ['authenticate', 'plan', 'use', 'apply', 'transform'] as const
export type Stage = (typeof STAGES)[number]

/** Runs a stage of a request and observes how long it took, also when it fails. */
export type Timed = <T>(stage: Stage, work: () => T | Promise<T>) => Promise<T>

/** The same, and notes the milliseconds of each stage in `stages`. */
export const measured =
  (timed: Timed, stages: Partial<Record<Stage, number>>): Timed =>
  async (name, work) => {
    const start = performance.now()
    try {
      return await timed(name, work)
    } finally {
      stages[name] = Math.round((performance.now() - start) * 1_000) / 1_000
    }
  }

export const createTimed = ({ stage }: Metrics): Timed => {
  const stages = new Map(STAGES.map((name) => [name, stage.labels(name)]))
  return async (name, work) => {
    const start = performance.now()
    try {
      return await work()
    } finally {
      stages.get(name)?.observe((performance.now() - start) / 1000)
    }
  }
}
