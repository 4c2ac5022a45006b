import ipaddr from 'ipaddr.js'
import { AppError, invalid } from '../common/errors.ts'
import type { GuessLimiter, RateLimiter } from '../common/rate-limiter.ts'
import type { Claim, SharedState, Wait } from './types.ts'

export interface RateLimits {
  /** Calls a minute; absent: any number. */
  readonly perKey?: number | undefined
  readonly perAddress?: number | undefined
}

interface Counting {
  readonly state: Pick<SharedState, 'take'>
  readonly hash: (text: string) => string
}

const tooMany = (what: string, { ms }: Wait): AppError => {
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  return new AppError('rate_limited', `${what} Wait ${seconds} s.`, { retryAfter: seconds })
}

/** Characters of a key beyond which it is nobody's, and needs no bucket. */
const MAX_KEY_LENGTH = 200

/** Pages of the service's own for one address, where addresses are limited: probes and scrapers ask for a few. */
export const PAGES_PER_MINUTE = 1_200

/** Who has an address of IPv6 has all of its /64 (RFC 4291 §2.5.4). */
const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address.slice(0, 64)
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}

/**
 * Rate limits per address and per key (completions §11); undefined when none is set. `hash`: the keyed hash that stands
 * for an address or a key in the shared state, where it is no other than for this.
 */
export const createRateLimits = (
  { state, hash }: Counting,
  { perKey, perAddress }: RateLimits,
): RateLimiter | undefined => {
  if (perKey === undefined && perAddress === undefined) return undefined
  return async ({ key, address, page }) => {
    const claims: (Claim & { readonly what: string })[] = []
    if (perAddress !== undefined && address !== undefined)
      claims.push({
        what: 'from this address',
        bucket: hash(`${page ? 'pages for' : 'calls from'} ${networkOf(address)}`),
        perMinute: page ? PAGES_PER_MINUTE : perAddress,
      })
    if (perKey !== undefined && key !== undefined && !page && key.length <= MAX_KEY_LENGTH)
      claims.push({ what: 'with this key', bucket: hash(`calls with ${key}`), perMinute: perKey })
    if (claims.length === 0) return
    const wait = await state.take(claims)
    if (wait) throw tooMany(`Too many calls ${claims[wait.claim]?.what ?? ''}.`, wait)
  }
}

/**
 * Limits the values of `data` that an application or session searches for without seeing what it finds (completions §5);
 * undefined without a limit. Rejects with `rate_limited`, and with `invalid` for more at once than a minute allows.
 */
export const createGuessLimit = (
  { state, hash }: Counting,
  perMinute: number | undefined,
): GuessLimiter | undefined => {
  if (perMinute === undefined) return undefined
  return async ({ tenantId, actorId }, guesses) => {
    if (guesses > perMinute)
      throw invalid({
        query: [
          `must not have more than ${perMinute} values of data, as this key does not see what it finds`,
        ],
      })
    // So many units of the bucket as there are guesses: all of them, or none.
    const bucket = hash(`guesses by ${tenantId} ${actorId}`)
    const wait = await state.take([{ bucket, perMinute: perMinute / guesses }])
    if (wait) throw tooMany('Too many values of data were searched for without seeing the data.', wait)
  }
}
