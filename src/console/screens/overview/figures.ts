import type { RequestEntry } from '../../api/types.ts'
import { quantile } from '../../kit/numbers.ts'
import type { Point } from '../../kit/plot.ts'

/** Number of buckets, and so of points of a plot. */
const BUCKETS = 60

/** A time that figures are about, in equal parts. Times in ms. */
interface TimeRange {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** The last `minutes`, by whole parts, so that parts stay the same as time passes. */
export const timeRange = (minutes: number, now: number): TimeRange => {
  const step = (minutes * 60_000) / BUCKETS
  const to = Math.ceil(now / step) * step
  return { from: to - BUCKETS * step, to, step }
}

interface Figures {
  readonly calls: number
  readonly perSecond: number
  readonly p50: number | undefined
  readonly p99: number | undefined
  readonly failed: number
  /** Share of failed calls, from 0 to 1; undefined without calls. */
  readonly failedShare: number | undefined
}

const figuresOf = (calls: readonly RequestEntry[], ms: number): Figures => {
  const times = calls.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  const failed = calls.filter(({ failed }) => failed).length
  return {
    calls: calls.length,
    perSecond: ms > 0 ? calls.length / (ms / 1_000) : 0,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    failed,
    failedShare: calls.length === 0 ? undefined : failed / calls.length,
  }
}

export interface CallStatistics {
  readonly all: Figures
  /** ms since the epoch; earlier calls are not loaded. */
  readonly coveredFrom: number
  readonly perSecond: readonly Point[]
  readonly p50: readonly Point[]
  readonly p99: readonly Point[]
  readonly failedShare: readonly Point[]
}

/**
 * Figures of a span, together and by its parts. `isAll`: no older calls exist; otherwise parts before the oldest are
 * gaps, and the sums begin there.
 */
export const callStatistics = (
  entries: readonly RequestEntry[],
  { from, to, step }: TimeRange,
  { now, isAll }: { readonly now: number; readonly isAll: boolean },
): CallStatistics => {
  const oldest = entries.at(-1)
  const coveredFrom = isAll || oldest === undefined ? from : Math.max(from, Date.parse(oldest.at))
  const parts: RequestEntry[][] = Array.from({ length: Math.round((to - from) / step) }, () => [])
  for (const call of entries) {
    const at = Date.parse(call.at)
    if (at < coveredFrom) break
    parts[Math.floor((at - from) / step)]?.push(call)
  }
  const figures = parts.map((calls, index) => {
    const start = from + index * step
    const isCovered = start >= coveredFrom && start < now
    // The last part has not ended.
    return [start, isCovered ? figuresOf(calls, Math.min(step, now - start)) : undefined] as const
  })
  const points = (figure: (figures: Figures) => number | undefined): readonly Point[] =>
    figures.map(([start, interval]) => [start, interval === undefined ? undefined : figure(interval)])
  return {
    all: figuresOf(parts.flat(), Math.max(1_000, now - coveredFrom)),
    coveredFrom,
    perSecond: points(({ perSecond }) => perSecond),
    p50: points(({ p50 }) => p50),
    p99: points(({ p99 }) => p99),
    failedShare: points(({ failedShare }) => failedShare),
  }
}
