import { LRUCache } from 'lru-cache'
import type { Clock } from '../../common/clock.ts'

/** Code that has ended so many children within this time is not run until the first of them is that long ago. */
const DEATHS = 2
const WINDOW_MS = 10 * 60_000
/** Code that met a limit is not trusted for so long, whatever it does. */
const SUSPECT_MS = 60_000
const MAX_RETAINED = 10_000

/** What is thought of a program: it has behaved, nothing, or that it met a limit lately. */
export type Trust = 'trusted' | 'unknown' | 'suspect'

export interface Reputation {
  /** It ended as code should. */
  behaved(key: string): void
  /** It met a limit of CPU, memory or time. */
  exceeded(key: string): void
  /** A child had to end because of it. */
  killed(key: string): void
  /** It has ended too many children to be run again. */
  quarantined(key: string): boolean
  /** Only what is trusted may go where others' work would suffer if it did not behave. */
  standing(key: string): Trust
}

/** What programs have done to the children, by key. */
export const createReputation = (clock: Clock): Reputation => {
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
    quarantined: (key) => recent(key).length >= DEATHS,
    standing: (key) => {
      if ((offences.get(key) ?? -Infinity) > clock.now() - SUSPECT_MS) return 'suspect'
      return good.has(key) ? 'trusted' : 'unknown'
    },
  }
}
