/** An answer that is kept for a repeated request, and the right to make it. */
export interface AnswerKey {
  readonly tenantId: string
  /** A keyed hash. */
  readonly key: Buffer
}

export type Begun =
  | { readonly kind: 'begun' }
  /** Another request holds it. */
  | { readonly kind: 'running' }
  | {
      readonly kind: 'done'
      readonly sealed: Buffer
      /** As long as all tokens in it are as they were. */
      readonly shown?: Buffer
    }

/** A token as an answer shows it: these times tell each of its states from all others. */
export interface ShownToken {
  readonly id: string
  readonly created_at: number
  readonly modified_at: number | null
}

export interface FinishedAnswer extends AnswerKey {
  readonly holder: string
  readonly expiresAt: number
  /** The answer without what tokens keep sealed. */
  readonly sealed: Buffer
  /**
   * The whole answer, when it shows something of tokens. It goes in the transaction that changes or deletes one of them,
   * when one of them, or a short-lived member, expires, and at `until`; it is not kept when one of them has changed since.
   */
  readonly shown?: {
    readonly sealed: Buffer
    readonly tokens: readonly ShownToken[]
    readonly until?: number
  }
}

export interface AnswerStore {
  /** `holder` may make the answer until `expiresAt`, unless one is there or another holder is at it. */
  begin(
    answer: AnswerKey & { readonly operation: string; readonly holder: string; readonly expiresAt: number },
    now: number,
  ): Promise<Begun>
  /** Keeps the answer until `expiresAt`; nothing when the holder's time has run out and another took over. */
  finish(answer: FinishedAnswer, now: number): Promise<void>
  /** Gives the right back. */
  abandon(answer: AnswerKey & { readonly holder: string }): Promise<void>
}
