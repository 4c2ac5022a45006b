/** Calls that left with values of tokens, by destination, in memory (completions §16). */

const HOUR_MS = 3_600_000
/** The present hour, and those before it. */
const HOURS = 24
/** Hosts of an hour that are counted by themselves, so that callers with made-up hosts make nothing grow. */
const MAX_DESTINATIONS = { ofTenant: 200, ofAll: 5_000 }

/** The name of all other hosts. */
const OTHERS = '*'

export interface DestinationCount {
  /** `*`: all others. */
  readonly host: string
  readonly calls: number
  readonly tokens: number
}

export interface DestinationCounts {
  /** ms since the epoch: what is counted began then. */
  readonly since: number
  readonly destinations: readonly DestinationCount[]
}

/** Calls and tokens of a tenant by destination host, in the last 24 hours. */
export type CountDestinations = (tenantId: string) => Promise<DestinationCounts>

type Counts = Map<string, { calls: number; tokens: number }>

const addTo = (counts: Counts, host: string, calls: number, tokens: number): void => {
  const known = counts.get(host)
  if (known === undefined) counts.set(host, { calls, tokens })
  else {
    known.calls += calls
    known.tokens += tokens
  }
}

const listOf = (counts: Counts): readonly DestinationCount[] =>
  [...counts].map(([host, count]) => ({ host, ...count }))

/** The counts of several processes as one: complete from the newest of their beginnings on. */
export const mergeDestinations = (all: readonly DestinationCounts[]): DestinationCounts => {
  const merged: Counts = new Map()
  for (const { destinations } of all)
    for (const { host, calls, tokens } of destinations) addTo(merged, host, calls, tokens)
  return { since: Math.max(0, ...all.map(({ since }) => since)), destinations: listOf(merged) }
}

export const createDestinationCounts = (now: () => number, limits = MAX_DESTINATIONS) => {
  const startedAt = now()
  /** By hour since the epoch, then by tenant. */
  const hours = new Map<number, { hosts: number; readonly tenants: Map<string, Counts> }>()

  const currentHour = () => {
    const hour = Math.floor(now() / HOUR_MS)
    let current = hours.get(hour)
    if (current === undefined) {
      current = { hosts: 0, tenants: new Map() }
      hours.set(hour, current)
      for (const old of hours.keys()) if (old <= hour - HOURS) hours.delete(old)
    }
    return current
  }

  return {
    /** A call left for `host` with the values of `tokens` tokens. */
    add: (tenantId: string, host: string, tokens: number): void => {
      const hour = currentHour()
      const counts: Counts = hour.tenants.get(tenantId) ?? new Map()
      hour.tenants.set(tenantId, counts)
      const isNew = !counts.has(host)
      const isFull = isNew && (counts.size >= limits.ofTenant || hour.hosts >= limits.ofAll)
      if (isNew && !isFull) hour.hosts++
      addTo(counts, isFull ? OTHERS : host, 1, tokens)
    },

    of: (tenantId: string): DestinationCounts => {
      const first = Math.floor(now() / HOUR_MS) - HOURS + 1
      const counts: Counts = new Map()
      for (const [hour, { tenants }] of hours)
        if (hour >= first)
          for (const [host, { calls, tokens }] of tenants.get(tenantId) ?? [])
            addTo(counts, host, calls, tokens)
      return { since: Math.max(startedAt, first * HOUR_MS), destinations: listOf(counts) }
    },
  }
}
