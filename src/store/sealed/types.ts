/** One sealed value and what takes its place. Compared by its bytes: each seal has a nonce of its own. */
export interface Replacement {
  readonly from: Buffer
  readonly to: Buffer
}

/** What binds a token's seals, and the seals. */
export interface SealedToken {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly version: number
  readonly container: string
  readonly expires_at: number | null
  readonly sealed: Buffer
  readonly ephemeral: Buffer | null
}

export interface SealedRecord {
  readonly seq: number
  readonly id: string
  /** The record as it is stored, JSON. */
  readonly body: string
}

export interface SealedAnswer {
  readonly key: Buffer
  readonly sealed: Buffer | null
  readonly shown: Buffer | null
}

/** Values of one tenant under another seal. What was changed or removed since it was read is left as it is. */
export interface Reseal {
  readonly tenantId: string
  readonly tokens?: readonly {
    readonly seq: number
    readonly sealed?: Replacement
    readonly ephemeral?: Replacement
  }[]
  readonly records?: readonly { readonly seq: number; readonly from: string; readonly to: string }[]
  readonly answers?: readonly {
    readonly key: Buffer
    readonly sealed?: Replacement
    readonly shown?: Replacement
  }[]
}

/** Everything that is sealed under a tenant's data keys, for the rotation of these: expired rows too, in no order that matters. */
export interface SealedStore {
  /** About how many tokens there are. */
  size(tenantId: string): Promise<number>
  /** By `seq`, from the first above `after` on. */
  tokens(tenantId: string, after: number, limit: number): Promise<readonly SealedToken[]>
  /** Names of all collections. */
  collections(): Promise<readonly string[]>
  records(
    collection: string,
    tenantId: string,
    after: number,
    limit: number,
  ): Promise<readonly SealedRecord[]>
  answers(tenantId: string, after: Buffer, limit: number): Promise<readonly SealedAnswer[]>
  /** Without a trace: no version, counter or time moves. How many values were replaced. */
  reseal(change: Reseal): Promise<number>
}
