import type { Admit } from '../common/admit.ts'
import { AppError } from '../common/errors.ts'
import type { Claim, SharedState } from './types.ts'

export interface RateLimits {
  /** Calls a minute; absent: any number. */
  readonly perKey?: number | undefined
  readonly perAddress?: number | undefined
}

/** Characters of a key beyond which it is nobody's, and needs no bucket. */
const MAX_KEY_LENGTH = 200

/**
 * Rate limits per address and per key (completions §11); undefined when none is set. `hash`: the keyed hash that stands
 * for an address or a key in the shared state, where it is no other than for this.
 */
export const createRateLimits = (
  { state, hash }: { readonly state: Pick<SharedState, 'take'>; readonly hash: (text: string) => string },
  { perKey, perAddress }: RateLimits,
): Admit | undefined => {
  if (perKey === undefined && perAddress === undefined) return undefined
  return async ({ key, address }) => {
    const claims: (Claim & { readonly what: string })[] = []
    if (perAddress !== undefined && address !== undefined)
      claims.push({
        what: 'from this address',
        bucket: hash(`calls from ${address.slice(0, 64)}`),
        perMinute: perAddress,
      })
    if (perKey !== undefined && key !== undefined && key.length <= MAX_KEY_LENGTH)
      claims.push({ what: 'with this key', bucket: hash(`calls with ${key}`), perMinute: perKey })
    if (claims.length === 0) return
    const wait = await state.take(claims)
    if (wait === undefined) return
    const seconds = Math.max(1, Math.ceil(wait.ms / 1000))
    throw new AppError(
      'rate_limited',
      `Too many calls ${claims[wait.claim]?.what ?? ''}. Wait ${seconds} s.`,
      { retryAfter: seconds },
    )
  }
}
