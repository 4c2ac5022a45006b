/** Who wants to be served, as a transport saw it. */
interface Client {
  /** The API key as sent. */
  readonly key: string | undefined
  /** The address that the request came from. */
  readonly address: string | undefined
  /** Only a page of the service's own is wanted, which has a limit of its own. */
  readonly page?: true
}

/** Rejects with `rate_limited` and a time to wait when a visitor has been served too often; counts the call otherwise. */
export type RateLimiter = (visitor: Client) => Promise<void>

/** Rejects with `rate_limited` when a caller has guessed at values that it does not see too often; counts the guesses otherwise. */
export type GuessLimiter = (
  caller: { readonly tenantId: string; readonly actorId: string },
  guesses: number,
) => Promise<void>

/** The header in which Envoy tells its own processes who connected; set by nobody else, and forwarded to nobody else. */
export const CLIENT_ADDRESS_HEADER = 'x-sidevault-client-address'
