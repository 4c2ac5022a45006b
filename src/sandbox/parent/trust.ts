import { LRUCache } from 'lru-cache'
import type { Clock } from '../../common/clock.ts'

/** Killed children within the window that put code in quarantine. */
const KILLS_TO_QUARANTINE = 2
const WINDOW_MS = 10 * 60_000
/** Time without trust after a limit was exceeded. */
const SUSPECT_MS = 60_000
const MAX_RETAINED = 10_000

/** `trusted`: it has ended by itself. `unknown`: no history. `suspect`: it recently exceeded a limit. */
export type Trust = 'trusted' | 'unknown' | 'suspect'

export interface TrustTracker {
  /** The program ended by itself. */
  behaved(key: string): void
  /** The program exceeded a limit of CPU, memory or time. */
  exceeded(key: string): void
  /** A child died because of the program. */
  killed(key: string): void
  /** True while the program must not run. */
  quarantined(key: string): boolean
  /** Only trusted programs may run beside others. */
  standing(key: string): Trust
}

/** Reputation of programs, by key. */
export const createTrustTracker = (clock: Clock): TrustTracker => {
  const deaths = new LRUCache<string, readonly number[]>({ max: MAX_RETAINED })
  const offences = new LRUCache<string, number>({ max: MAX_RETAINED })
  const good = new LRUCache<string, true>({ max: MAX_RETAINED })
  const recent = (key: string) => (deaths.get(key) ?? []).filter((at) => at > clock.now() - WINDOW_MS)
  const exceeded = (key: string): void => {
    offences.set(key, clock.now())
    good.delete(key)
  }

  return {
    behaved: (key) => void good.set(key, true),
    exceeded,
    killed: (key) => {
      exceeded(key)
      deaths.set(key, [...recent(key), clock.now()])
    },
    quarantined: (key) => recent(key).length >= KILLS_TO_QUARANTINE,
    standing: (key) => {
      if ((offences.get(key) ?? -Infinity) > clock.now() - SUSPECT_MS) return 'suspect'
      return good.has(key) ? 'trusted' : 'unknown'
    },
  }
}
