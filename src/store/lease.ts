/** The idempotency key of a request, in its tenant. */
export interface IdempotencyKey {
  readonly tenantId: string
  /** Keyed hash. */
  readonly key: Buffer
}

/** Lease to produce the response for an idempotency key. */
export interface IdempotencyLease extends IdempotencyKey {
  readonly holder: string
  /** End of the period in which a write under the lease counts, ms. */
  readonly expiresAt: number
}
