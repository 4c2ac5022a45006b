import { LRUCache } from 'lru-cache'
import type { Clock } from '../../common/clock.ts'

/** Code that has ended so many children within this time is not run until the first of them is that long ago. */
const DEATHS = 2
const WINDOW_MS = 10 * 60_000
/** Code that met a limit stays away from the other programs' children for so long. */
const SUSPECT_MS = 60_000
const MAX_KEPT = 10_000

/** What programs have done to the children, by key. */
export const createOffenders = (clock: Clock) => {
  const deaths = new LRUCache<string, readonly number[]>({ max: MAX_KEPT })
  const suspects = new LRUCache<string, number>({ max: MAX_KEPT })
  const recent = (key: string) => (deaths.get(key) ?? []).filter((at) => at > clock.now() - WINDOW_MS)

  return {
    /** A child had to end because of it. */
    killed: (key: string): void => {
      deaths.set(key, [...recent(key), clock.now()])
      suspects.set(key, clock.now())
    },
    /** It met a limit of CPU, memory or time. */
    exceeded: (key: string): void => {
      suspects.set(key, clock.now())
    },
    quarantined: (key: string): boolean => recent(key).length >= DEATHS,
    suspect: (key: string): boolean => (suspects.get(key) ?? -Infinity) > clock.now() - SUSPECT_MS,
  }
}
