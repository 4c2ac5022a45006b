import type { Eventual } from '../common/eventual.ts'

/** A call from a bucket of `perMinute` calls. An unused bucket allows that many at once. */
export interface Claim {
  /** Name of the bucket. It becomes a key in Redis, so it must not reveal anything. */
  readonly bucket: string
  readonly perMinute: number
}

/** Index of the rejected claim, and ms until it would pass. */
export interface Wait {
  readonly claim: number
  readonly ms: number
}

/** State of the buckets after a call. */
export interface TakeResult {
  /** ms until each bucket is full again, in order, up to that of the claim that must wait. */
  readonly fullIn: readonly number[]
  /** Absent when all claims passed. */
  readonly wait?: Wait
}

/** `own`: of this process, as configured. `shared`: of all replicas. `away`: of this process until Redis recovers. */
type Backend = 'own' | 'shared' | 'away'

/**
 * Short-lived state that replicas share: rate limits. It may be lost at any time, and correctness does not depend on
 * it.
 */
export interface SharedState {
  /**
   * Takes one call for each claim in order, up to the first that must wait, which costs nothing. Never rejects, and
   * resolves within the driver's timeout.
   */
  take(claims: readonly Claim[]): Eventual<TakeResult>
  readonly backend: Backend
  close(): Promise<void>
}
