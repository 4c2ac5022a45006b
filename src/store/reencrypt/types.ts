import type { Replacement } from '../bytes.ts'
import type { TokenRow } from '../tokens/types.ts'

interface SealedRecord {
  readonly seq: number
  readonly id: string
  readonly version: number
  /** The stored record, JSON. */
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

/** New ciphertexts of one tenant's values. Values that have changed since they were read are skipped. */
export interface Reseal {
  readonly tenantId: string
  readonly tokens?: readonly {
    readonly seq: number
    readonly sealed?: Replacement
    readonly ephemeral?: Replacement
  }[]
  /** Compared by MAC, which differs for each version. */
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

/** All values sealed under a tenant's data keys, expired rows included, for key rotation and export. */
export interface SealedStore {
  /** Approximate number of tokens. */
  size(tenantId: string): Promise<number>
  /** Ordered by `seq`, starting above `after`. */
  tokens(tenantId: string, after: number, limit: number): Promise<readonly TokenRow[]>
  /** Pairs of ids, ordered by their numbers, starting above `after`. */
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
  /** Replaces values without changing versions, counters or times. Returns the number of replaced values. */
  reseal(change: Reseal): Promise<number>
}
