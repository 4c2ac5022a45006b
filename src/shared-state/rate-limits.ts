import ipaddr from 'ipaddr.js'
import { AppError, invalid } from '../common/errors.ts'
import { whenReady } from '../common/eventual.ts'
import type { GuessLimiter, LimitStatus, RateLimiter } from '../common/rate-limiter.ts'
import type { Claim, SharedState, Wait } from './types.ts'

interface RateLimits {
  /** Calls a minute; absent: unlimited. */
  readonly perKey?: number | undefined
  readonly perAddress?: number | undefined
  /** From pages of one origin at one address. */
  readonly perOrigin?: number | undefined
}

interface PolicyClaim extends Claim {
  readonly policy: LimitStatus['policy']
}

interface Counting {
  readonly state: Pick<SharedState, 'take'>
  readonly hash: (text: string) => string
}

const MINUTE = 60_000

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/** The figures of a bucket that is full again in this many ms. The tolerance is that of the buckets. */
const statusOf = ({ policy, perMinute }: PolicyClaim, fullIn: number): LimitStatus => {
  const interval = MINUTE / perMinute
  const remaining = Math.max(0, Math.floor((MINUTE - fullIn + 0.001) / interval))
  return {
    policy,
    perMinute,
    remaining,
    seconds: secondsOf(fullIn + (remaining + 1) * interval - MINUTE - 0.001),
  }
}

const tooMany = (what: string, { ms }: Wait): AppError => {
  const seconds = secondsOf(ms)
  return new AppError('rate_limited', `${what} Wait ${seconds} s.`, { retryAfter: seconds })
}

const TOO_MANY = {
  address: 'Too many calls from this address.',
  key: 'Too many calls with this key.',
  origin: 'Too many calls of pages of this origin from this address.',
} as const

/** Longer keys are invalid and need no bucket. */
const MAX_KEY_LENGTH = 200

/** Requests a minute from one address for pages that share a limit: health, metrics and documentation do. */
export const PAGES_PER_MINUTE = 1_200

/** The unit that is limited: an IPv4 address, or the /64 of an IPv6 address (RFC 4291 §2.5.4). */
const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address.slice(0, 64)
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}

/**
 * Rate limits per address, per key and per origin (completions §11); undefined when none is set. `hash`: keyed hash for
 * names of buckets, used for nothing else.
 */
export const createRateLimits = (
  { state, hash }: Counting,
  { perKey, perAddress, perOrigin }: RateLimits,
): RateLimiter | undefined => {
  if (perKey === undefined && perAddress === undefined && perOrigin === undefined) return undefined
  return ({ key, keyId, address, origin, pages }, report) => {
    const claims: PolicyClaim[] = []
    if (perAddress !== undefined && address !== undefined)
      claims.push({
        policy: 'address',
        bucket: hash(`${pages ?? 'calls'} from ${networkOf(address)}`),
        perMinute: pages === undefined ? perAddress : PAGES_PER_MINUTE,
      })
    if (perKey !== undefined && key !== undefined && pages === undefined && key.length <= MAX_KEY_LENGTH)
      claims.push({ policy: 'key', bucket: hash(`calls with ${key}`), perMinute: perKey })
    if (perKey !== undefined && keyId !== undefined)
      claims.push({ policy: 'key', bucket: hash(`calls of key ${keyId}`), perMinute: perKey })
    if (perOrigin !== undefined && origin !== undefined)
      claims.push({
        policy: 'origin',
        bucket: hash(`pages of ${origin} at ${address === undefined ? '' : networkOf(address)}`),
        perMinute: perOrigin,
      })
    if (claims.length === 0) return
    return whenReady(state.take(claims), ({ fullIn, wait }) => {
      report?.(fullIn.map((ms, index) => statusOf(claims[index]!, ms)))
      if (wait) throw tooMany(TOO_MANY[claims[wait.claim]!.policy], wait)
    })
  }
}

/**
 * Limits the values of `data` that an application searches for without seeing the data (completions §5). Its sessions
 * count with it, since it can authorize any number of them. Undefined without a limit. Rejects with `rate_limited`, and
 * with `invalid` for a query above the limit of a minute.
 */
export const createGuessLimit = (
  { state, hash }: Counting,
  perMinute: number | undefined,
): GuessLimiter | undefined => {
  if (perMinute === undefined) return undefined
  return async ({ tenantId, actorId, authorizedBy = actorId }, guesses) => {
    if (guesses > perMinute)
      throw invalid({
        query: [`must not have more than ${perMinute} values of data for a key that cannot read the data`],
      })
    // All guesses count, or none.
    const bucket = hash(`guesses by ${tenantId} ${authorizedBy}`)
    const { wait } = await state.take([{ bucket, perMinute: perMinute / guesses }])
    if (wait) throw tooMany('This key cannot read the data and searched for too many of its values.', wait)
  }
}
