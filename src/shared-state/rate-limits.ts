import type { Admit } from '../common/admit.ts'
import { AppError } from '../common/errors.ts'
import type { SharedState } from './types.ts'

export interface RateLimits {
  /** Calls a minute; absent: any number. */
  readonly perKey?: number | undefined
  readonly perAddress?: number | undefined
}

const limited = (what: string, ms: number): AppError => {
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  return new AppError('rate_limited', `Too many calls ${what}. Wait ${seconds} s.`, { retryAfter: seconds })
}

/** Rate limits per address and per key (completions §11); undefined when none is set. `hash`: what stands for a key. */
export const createRateLimits = (
  { state, hash }: { readonly state: SharedState; readonly hash: (key: string) => string },
  { perKey, perAddress }: RateLimits,
): Admit | undefined => {
  if (perKey === undefined && perAddress === undefined) return undefined
  return async ({ key, address }) => {
    if (perAddress !== undefined && address !== undefined) {
      const wait = await state.take(`address ${address.slice(0, 64)}`, { perMinute: perAddress })
      if (wait > 0) throw limited('from this address', wait)
    }
    // A key longer than any is nobody's, and needs no bucket.
    if (perKey !== undefined && key !== undefined && key.length <= 200) {
      const wait = await state.take(`key ${hash(key)}`, { perMinute: perKey })
      if (wait > 0) throw limited('with this key', wait)
    }
  }
}
