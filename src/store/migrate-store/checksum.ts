import { createHash } from 'node:crypto'

export type Row = Readonly<Record<string, unknown>>

/** Row count and a hash over all values in order; equal on both engines for equal rows. */
export interface Sum {
  readonly rows: number
  readonly hash: string
}

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value

export const createChecksum = (columns: readonly { readonly name: string }[]) => {
  const hash = createHash('sha256')
  let rows = 0
  return {
    add: (row: Row): void => {
      rows++
      hash.update(JSON.stringify(columns.map(({ name }) => plain(row[name]))))
      hash.update('\n')
    },
    sum: (): Sum => ({ rows, hash: hash.digest('hex') }),
  }
}
