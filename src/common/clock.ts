/** Source of the current time, handed in so that tests can move it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Milliseconds → ISO 8601 in UTC with offset, as the API prints every timestamp (completions §1). */
export const isoTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00')
