import { ANY_ORIGIN, isCrossOrigin, isOpenToAny } from '../../common/cross-origin.ts'
import type { RecordStore } from '../../store/records/types.ts'
import type { AllowedOrigins } from '../types.ts'
import { createCachedLookup } from './cached-lookup.ts'

/** Cached origins; the least recently used one is dropped first. Origins that nothing allows are not cached. */
const RETAINED = 10_000

/** `collections`: those whose records allow origins. */
export const createAllowedOrigins = (
  records: Pick<RecordStore, 'allowsOrigin' | 'changes'>,
  collections: readonly string[],
): AllowedOrigins => {
  const lookup = createCachedLookup(
    () => collections,
    async (_, origin) => ((await records.allowsOrigin(origin)) ? { origin } : undefined),
    { changes: (names) => records.changes(names), max: RETAINED },
  )
  return {
    for: async ({ rpc }, origin) => {
      if (!isCrossOrigin(rpc)) return undefined
      if (origin !== ANY_ORIGIN && (await lookup.find(origin))) return origin
      return isOpenToAny(rpc) && (await lookup.find(ANY_ORIGIN)) ? ANY_ORIGIN : undefined
    },
  }
}
