import type { Eventual } from './eventual.ts'

/** Client of a request, as the transport saw it. */
interface Client {
  /** API key as sent. */
  readonly key: string | undefined
  /** Id of the key that a call of the console goes out with: all sessions with that key share its limit. */
  readonly keyId?: string | undefined
  /** Source address of the request. */
  readonly address: string | undefined
  /** Origin of the page that made the call, which some application allows. */
  readonly origin?: string | undefined
  /**
   * The request is for a page of the service itself (health, metrics, docs): which pages share its limit, by a name for
   * them.
   */
  readonly pages?: string
}

/** Name of the pages that anyone may request. */
export const PUBLIC_PAGES = 'pages'

/** A limit after a call was counted. */
export interface LimitStatus {
  readonly policy: 'address' | 'key' | 'origin'
  readonly perMinute: number
  /** Calls that would pass now. */
  readonly remaining: number
  /** Seconds until another call is available, rounded up. */
  readonly seconds: number
}

/**
 * Counts a call. Rejects with `rate_limited` and `retryAfter` when the client is above its limit. `report` gets the
 * limits that counted the call, before that.
 */
export type RateLimiter = (
  client: Client,
  report?: (limits: readonly LimitStatus[]) => void,
) => Eventual<void>

/** Counts searches by value of a caller that cannot see the values. Rejects with `rate_limited` above its limit. */
export type GuessLimiter = (
  caller: { readonly tenantId: string; readonly actorId: string; readonly authorizedBy?: string },
  guesses: number,
) => Promise<void>

/** Header in which Envoy reports the client's address to the gateway and admin processes. Callers cannot set it. */
export const CLIENT_ADDRESS_HEADER = 'x-sidevault-client-address'
