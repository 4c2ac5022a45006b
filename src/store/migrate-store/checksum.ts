import { createHash } from 'node:crypto'
import type { Cell } from '../snapshot/types.ts'

/** Row count and the sum of the hashes of all rows: equal on both engines for equal rows, in any order. */
interface Sum {
  readonly rows: number
  readonly hash: bigint
}

const HASH_BITS = 256

const plain = (value: Cell): unknown =>
  value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value

const hashOf = (row: readonly Cell[]): bigint =>
  BigInt(
    `0x${createHash('sha256')
      .update(JSON.stringify(row.map(plain)))
      .digest('hex')}`,
  )

export const createChecksum = () => {
  let sum: Sum = { rows: 0, hash: 0n }
  return {
    add: (rows: readonly (readonly Cell[])[]): void => {
      const hash = rows.reduce((total, row) => total + hashOf(row), sum.hash)
      sum = { rows: sum.rows + rows.length, hash: BigInt.asUintN(HASH_BITS, hash) }
    },
    sum: (): Sum => sum,
  }
}
