/** Idempotency record: the response stored for a repeated request, and the lease to produce it. */
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
