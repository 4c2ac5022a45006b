import { LRUCache } from 'lru-cache'
import type { Clock } from '../../common/clock.ts'

/** Killed children within the window that put code in quarantine. */
const KILLS_TO_QUARANTINE = 2
const WINDOW_MS = 10 * 60_000
/**
 * Points of a tenant for a child that its program killed: alone in it, or while invocations of other tenants were in
 * it, which may have been the cause. At this sum within the window the tenant is separated.
 */
const POINTS = { alone: 2, shared: 1 } as const
const POINTS_TO_SEPARATE = 4
/** Time without trust after a limit was exceeded. */
const SUSPECT_MS = 60_000
const MAX_RETAINED = 10_000

/** `trusted`: it has ended by itself. `unknown`: no history. `suspect`: it recently exceeded a limit. */
export type TrustLevel = 'trusted' | 'unknown' | 'suspect'

interface ProgramOfTenant {
  readonly key: string
  readonly tenantId: string
}

export interface TrustTracker {
  /** The program ended by itself. */
  behaved(key: string): void
  /** The program exceeded a limit of CPU, memory or time. */
  exceeded(key: string): void
  /**
   * A child died while it ran the program: `alone` in the child, or `shared` with invocations of other tenants. Only
   * the first proves that the program is the cause.
   */
  killed(program: ProgramOfTenant, how: keyof typeof POINTS): void
  /** True while the program must not run. */
  quarantined(key: string): boolean
  /**
   * True while the tenant's programs must not share a child with those of others: programs cost nothing, tenants do.
   */
  separated(tenantId: string): boolean
  /** Only trusted programs may run beside others; none of a separated tenant is. */
  levelOf(key: string, tenantId?: string): TrustLevel
}

/** Tracks how far programs and tenants can be trusted, from how their code ended. */
export const createTrustTracker = (clock: Clock): TrustTracker => {
  const deaths = new LRUCache<string, readonly number[]>({ max: MAX_RETAINED })
  const offences = new LRUCache<string, number>({ max: MAX_RETAINED })
  const wellBehaved = new LRUCache<string, true>({ max: MAX_RETAINED })
  const tenants = new LRUCache<string, readonly { readonly at: number; readonly points: number }[]>({
    max: MAX_RETAINED,
  })
  const since = () => clock.now() - WINDOW_MS
  const recent = (key: string) => (deaths.get(key) ?? []).filter((at) => at > since())
  const pointsOf = (tenantId: string) => (tenants.get(tenantId) ?? []).filter(({ at }) => at > since())
  const separated = (tenantId: string): boolean =>
    tenants.has(tenantId) &&
    pointsOf(tenantId).reduce((sum, { points }) => sum + points, 0) >= POINTS_TO_SEPARATE
  const exceeded = (key: string): void => {
    offences.set(key, clock.now())
    wellBehaved.delete(key)
  }

  return {
    behaved: (key) => void wellBehaved.set(key, true),
    exceeded,
    killed: ({ key, tenantId }, how) => {
      exceeded(key)
      if (how === 'alone') deaths.set(key, [...recent(key), clock.now()])
      tenants.set(tenantId, [...pointsOf(tenantId), { at: clock.now(), points: POINTS[how] }])
    },
    quarantined: (key) => recent(key).length >= KILLS_TO_QUARANTINE,
    separated,
    levelOf: (key, tenantId) => {
      if (tenantId !== undefined && separated(tenantId)) return 'suspect'
      if ((offences.get(key) ?? -Infinity) > clock.now() - SUSPECT_MS) return 'suspect'
      return wellBehaved.has(key) ? 'trusted' : 'unknown'
    },
  }
}
