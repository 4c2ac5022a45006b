/** One call to be taken from a bucket, which gives so many a minute; as many at once when there were none before. */
export interface Claim {
  /** What is counted. Holds nothing that may not be known outside: it becomes a name in Redis. */
  readonly bucket: string
  readonly perMinute: number
}

/** Which claim had to wait, and the ms until it would not. */
export interface Wait {
  readonly claim: number
  readonly ms: number
}

/** `own`: of this process alone, as configured. `shared`: of all replicas. `away`: of this process until Redis is back. */
type Reach = 'own' | 'shared' | 'away'

/**
 * Short-lived state that replicas share. It may be lost at any time, so that nothing but patience rests on it: rate
 * limits, and the word that something changed, which only makes others look sooner than they would.
 */
export interface SharedState {
  /**
   * Takes one call for each claim in turn, up to the first that has to wait; that one costs nothing. Undefined when all
   * had theirs. Never rejects, and never takes longer than the driver's patience.
   */
  take(claims: readonly Claim[]): Promise<Wait | undefined>
  /** Tells all other processes that something was changed. Returns at once; the word may be lost. */
  announce(): void
  /** `look` is called after others announced something, and when such words may have been missed. */
  listen(look: () => void): void
  readonly reach: Reach
  close(): Promise<void>
}
