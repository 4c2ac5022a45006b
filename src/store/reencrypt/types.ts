import type { TokenRow } from '../tokens/types.ts'

/** One sealed value and what takes its place. Compared by its bytes: each seal has a nonce of its own. */
export interface Replacement {
  readonly from: Buffer
  readonly to: Buffer
}

interface SealedRecord {
  readonly seq: number
  readonly id: string
  readonly version: number
  /** The record as it is stored, JSON. */
  readonly body: string
  readonly name: string | null
  readonly expires_at: number | null
  readonly mac: Buffer | null
}

interface SealedResponse {
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
  /** Of a record the MAC is compared: each version has another. */
  readonly records?: readonly (Replacement & { readonly seq: number; readonly body: string })[]
  readonly responses?: readonly {
    readonly key: Buffer
    readonly sealed?: Replacement
    readonly shown?: Replacement
  }[]
}

export interface SeqPair {
  readonly parent_seq: number
  readonly child_seq: number
}

export interface AssociatedPair extends SeqPair {
  readonly parent_id: string
  readonly child_id: string
}

/** Everything that is sealed under a tenant's data keys, for their rotation and for moving the tenant: expired rows too, in no order that matters. */
export interface SealedStore {
  /** About how many tokens there are. */
  size(tenantId: string): Promise<number>
  /** By `seq`, from the first above `after` on. */
  tokens(tenantId: string, after: number, limit: number): Promise<readonly TokenRow[]>
  /** Pairs of ids, from the first pair of numbers above `after` on. */
  associations(tenantId: string, after: SeqPair, limit: number): Promise<readonly AssociatedPair[]>
  /** Names of all collections. */
  collections(): Promise<readonly string[]>
  records(
    collection: string,
    tenantId: string,
    after: number,
    limit: number,
  ): Promise<readonly SealedRecord[]>
  responses(tenantId: string, after: Buffer, limit: number): Promise<readonly SealedResponse[]>
  /** Without a trace: no version, counter or time moves. How many values were replaced. */
  reseal(change: Reseal): Promise<number>
}
