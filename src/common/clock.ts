/** Source of the current time. Passed in, so that tests can set it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Monotonic clock with an arbitrary start, for durations only. */
export const steadyClock: Clock = { now: () => performance.now() }

/**
 * Milliseconds until the next multiple of `ms` on the steady clock: tasks that wait for it wake an idle process
 * together.
 */
export const untilNext = (ms: number): number => ms - (steadyClock.now() % ms)

/** Milliseconds → ISO 8601 in UTC with offset, as the API prints every timestamp (completions §1). */
export const isoTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}+00:00`

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+\- ]\d{2}:?\d{2})?)?$/i

/**
 * ISO 8601 (a date, or a date and a time; UTC by default) → ms since the epoch; undefined when invalid. A space before
 * the offset counts as the plus sign that a query string decoded.
 */
export const parseIsoTime = (text: string): number | undefined => {
  const [, date, time = '00:00', offset = 'Z'] = ISO.exec(text) ?? []
  const day = Date.parse(`${date}T00:00:00Z`)
  const zone = offset.replace(' ', '+').replace(/(\d{2}):?(\d{2})$/, '$1:$2')
  const instant = Date.parse(`${date}T${time}${zone.toUpperCase()}`)
  // Date rolls over a day that its month does not have.
  const exists = !Number.isNaN(day) && new Date(day).toISOString().slice(0, 10) === date
  return exists && !Number.isNaN(instant) ? instant : undefined
}
