/** Source of the current time, handed in so that tests can move it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** For spans of time only: it begins anywhere, and goes on evenly when the time of day is set. */
export const steadyClock: Clock = { now: () => performance.now() }

/** Milliseconds → ISO 8601 in UTC with offset, as the API prints every timestamp (completions §1). */
export const isoTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}+00:00`

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+\- ]\d{2}:?\d{2})?)?$/i

/**
 * ISO 8601 (a date, or a date and a time; UTC unless it says otherwise) → ms since the epoch; undefined when it is none.
 * A plus sign that a query string has made a blank is read as one.
 */
export const parseIsoTime = (text: string): number | undefined => {
  const [, date, time = '00:00', offset = 'Z'] = ISO.exec(text) ?? []
  const day = Date.parse(`${date}T00:00:00Z`)
  const zone = offset.replace(' ', '+').replace(/(\d{2}):?(\d{2})$/, '$1:$2')
  const instant = Date.parse(`${date}T${time}${zone.toUpperCase()}`)
  // A day that its month does not have is rolled over by Date.
  const exists = !Number.isNaN(day) && new Date(day).toISOString().slice(0, 10) === date
  return exists && !Number.isNaN(instant) ? instant : undefined
}
