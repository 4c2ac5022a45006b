export type Cell = string | number | null | Uint8Array

export interface SnapshotTable {
  readonly name: string
  /** In the order of each row's cells. */
  readonly columns: readonly { readonly name: string; readonly kind: 'text' | 'integer' | 'bytes' }[]
}

/** Consistent content of a store at one moment; concurrent writes continue. */
export interface SnapshotContent {
  /** Version of the schema. */
  readonly schema: number
  readonly tables: readonly SnapshotTable[]
  /** In batches. */
  rows(table: SnapshotTable): AsyncIterable<readonly (readonly Cell[])[]>
  /** Last issued sequence number by table. */
  readonly sequences: Readonly<Record<string, number>>
}

/** For a backup: without records that are bound to tokens, which are short-lived, as results of reactors are. */
export interface Snapshot extends SnapshotContent {
  close(): Promise<void>
}

/** A new store that a copy is written to. Nothing is durable before `finish`. */
export interface SnapshotTarget {
  /** `invalid` when the table or a column is not in the schema. */
  insert(table: SnapshotTable, rows: readonly (readonly Cell[])[]): Promise<void>
  /** Checks foreign keys and makes the copy durable. Returns row counts by table. */
  finish(sequences: Readonly<Record<string, number>>): Promise<Readonly<Record<string, number>>>
  abort(): Promise<void>
}
