export type Cell = string | number | null | Uint8Array

export interface CopyTable {
  readonly name: string
  /** In the order of each row's cells. */
  readonly columns: readonly { readonly name: string; readonly kind: 'text' | 'integer' | 'bytes' }[]
}

/** Everything a store holds, as of one moment, while others write on. */
export interface Snapshot {
  /** Version of the schema. */
  readonly schema: number
  readonly tables: readonly CopyTable[]
  /** In batches. */
  rows(table: CopyTable): AsyncIterable<readonly (readonly Cell[])[]>
  /** The last number that each growing number gave out, by table: none is given out twice. */
  readonly sequences: Readonly<Record<string, number>>
  close(): Promise<void>
}

/** A store that is filled with a copy. Nothing of it is there before `finish`. */
export interface CopyTarget {
  /** `invalid` when the table or a column is not of the schema. */
  insert(table: CopyTable, rows: readonly (readonly Cell[])[]): Promise<void>
  /** Checks that references hold, counts, and makes it durable. How many rows each table holds. */
  finish(sequences: Readonly<Record<string, number>>): Promise<Readonly<Record<string, number>>>
  abort(): Promise<void>
}
