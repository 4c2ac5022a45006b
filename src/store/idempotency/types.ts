import type { IdempotencyKey, IdempotencyLease } from '../lease.ts'

export type BeginResult =
  | { readonly kind: 'started' }
  /** Another request holds the lease. */
  | { readonly kind: 'running' }
  /** The holder exited, or lost the store, after part of its work was written. */
  | { readonly kind: 'indeterminate' }
  | {
      readonly kind: 'done'
      readonly sealed: Buffer
      /** Valid while all tokens in it are unchanged. */
      readonly shown?: Buffer
    }

/** A token as a response shows it: one state, to which its seals are bound. */
export interface ShownToken {
  readonly id: string
  readonly created_at: number
  readonly version: number
}

export interface FinishedRequest extends IdempotencyKey {
  readonly holder: string
  readonly expiresAt: number
  /** The response without sealed token data. */
  readonly sealed: Buffer
  /**
   * The complete response, when it shows token data. Removed in the transaction that changes or deletes one of its
   * tokens, and at `until`. Not stored when a token has changed since.
   */
  readonly shown?: {
    readonly sealed: Buffer
    readonly tokens: readonly ShownToken[]
    readonly until: number
  }
}

export interface IdempotencyStore {
  /**
   * Gives `holder`, of the process of this name, the lease until `runningUntil`, unless a response is stored or another
   * holder is running. After that time others may take it, unless something was written under it; `effects` has the
   * same meaning as a write.
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
   * Runs `work`; each of its writes checks the lease in its own transaction and is rejected with `conflict` when
   * another holder has it.
   */
  runWithLease<T>(lease: IdempotencyLease, work: () => Promise<T>): Promise<T>
  /** Stores the response until `expiresAt`; nothing when another holder has the lease. May be repeated. */
  finish(record: FinishedRequest, now: number): Promise<void>
  /** Returns the lease. `certain`: nothing took effect. Otherwise writes under it count from now on. */
  abandon(
    record: IdempotencyKey & { readonly holder: string; readonly certain: boolean },
    now: number,
  ): Promise<void>
  /** `abandon`, not certain, for all leases of an exited process; called by its successor of the same name. */
  abandonAllOf(process: string, now: number): Promise<void>
}
