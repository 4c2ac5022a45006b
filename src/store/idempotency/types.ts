/** An answer that is kept for a repeated request, and the right to make it. */
interface IdempotencyKey {
  readonly tenantId: string
  /** A keyed hash. */
  readonly key: Buffer
}

export type BeginResult =
  | { readonly kind: 'begun' }
  /** Another request holds it. */
  | { readonly kind: 'running' }
  /** Its holder has died, or lost the store, after something of it had been written. */
  | { readonly kind: 'lost' }
  | {
      readonly kind: 'done'
      readonly sealed: Buffer
      /** As long as all tokens in it are as they were. */
      readonly shown?: Buffer
    }

/** A token as an answer shows it: in one of its states, which its seals are bound to. */
export interface ShownToken {
  readonly id: string
  readonly created_at: number
  readonly version: number
}

export interface FinishedRequest extends IdempotencyKey {
  readonly holder: string
  readonly expiresAt: number
  /** The answer without what tokens keep sealed. */
  readonly sealed: Buffer
  /**
   * The whole answer, when it shows something of tokens. It goes in the transaction that changes or deletes one of them,
   * and at `until`; it is not kept when one of them has changed since.
   */
  readonly shown?: {
    readonly sealed: Buffer
    readonly tokens: readonly ShownToken[]
    readonly until: number
  }
}

/** The right to make an answer. */
export interface IdempotencyLease extends IdempotencyKey {
  readonly holder: string
  /** Until when it counts that something was written under it, ms. */
  readonly expiresAt: number
}

export interface IdempotencyStore {
  /**
   * `holder`, of a process of this name, may make the answer until `runningUntil`, unless one is there or another holder is
   * at it. After that time others may, unless something was written under this right; `effects`: as if it were.
   */
  begin(
    record: IdempotencyLease & {
      readonly operation: string
      readonly process?: string | undefined
      readonly runningUntil: number
      readonly effects?: boolean
    },
    now: number,
  ): Promise<BeginResult>
  /**
   * Whatever `work` writes says in its own transaction that it was written under this right, and is refused with
   * `conflict` when another holder has it.
   */
  runWithLease<T>(lease: IdempotencyLease, work: () => Promise<T>): Promise<T>
  /** Keeps the answer until `expiresAt`; nothing when another holder took over. May be repeated. */
  finish(record: FinishedRequest, now: number): Promise<void>
  /** Gives the right back. `certain`: nothing that it did counts. Otherwise what was written under it does, from now on. */
  abandon(
    record: IdempotencyKey & { readonly holder: string; readonly certain: boolean },
    now: number,
  ): Promise<void>
  /** The same, not certain, for all rights of a process that has died; for its successor of the same name. */
  abandonAllOf(process: string, now: number): Promise<void>
}
