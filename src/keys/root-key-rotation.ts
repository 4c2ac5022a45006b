import { randomBytes } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import type { KeyRow, KeyStore } from '../store/types.ts'
import { NEXT_ROOT, NOT_REWRAPPED, PREVIOUS_ROOT, rootsFrom } from './root-key-rows.ts'
import { createWrapper, rootIdOf } from './wrap.ts'

/** Rows of one transaction. */
const BATCH = 200

/** A change of root key that has begun and not ended: ids of both. */
export interface RootChange {
  readonly from: string
  readonly to: string
}

export const newRootKeyText = (): string => `${randomBytes(32).toString('base64')}\n`

/** As key rows name it: 16 hex digits, which tell nothing of the key. */
export const rootKeyId = (rootKey: Secret<Buffer>): string => createWrapper(rootKey.reveal()).id

/** The change that is under way in a store, by the service's own rows. */
export const rootChangeIn = (rows: readonly KeyRow[]): RootChange | undefined => {
  const idOf = (purpose: string) => {
    const row = rows.find((candidate) => candidate.tenant_id === '' && candidate.purpose === purpose)
    return row && rootIdOf(row)
  }
  const [from, to] = [idOf(NEXT_ROOT), idOf(PREVIOUS_ROOT)]
  return from === undefined || to === undefined ? undefined : { from, to }
}

/**
 * Lays each root key into the store under the other, in one transaction: from now on a process that starts with either
 * opens every row, and running ones learn of the new one. `from` must be the store's.
 */
export const beginRootChange = async (
  { keys }: { readonly keys: Pick<KeyStore, 'add'> },
  {
    from,
    to,
    row,
    now,
  }: {
    readonly from: Secret<Buffer>
    readonly to: Secret<Buffer>
    /** What keeps the new root key, where a key management service wraps it. */
    readonly row?: KeyRow | undefined
    readonly now: number
  },
): Promise<void> => {
  const [old, fresh] = [createWrapper(from.reveal()), createWrapper(to.reveal())]
  if (old.id === fresh.id)
    throw new AppError('invalid', 'The new root key is the old one. Name another source for it.')
  const added = await keys.add([
    old.wrap({ tenant_id: '', purpose: NEXT_ROOT, version: 1 }, to.reveal(), now),
    fresh.wrap({ tenant_id: '', purpose: PREVIOUS_ROOT, version: 1 }, from.reveal(), now),
    ...(row === undefined ? [] : [row]),
  ])
  if (!added)
    throw new AppError('conflict', 'Another command has begun to change the root key. Run this one again.')
}

/**
 * Wraps every key with the next root key, in batches; rows that are already are left alone, so it may be killed and run
 * again. Rejects with `invalid` when a row does not open: nothing of it is changed. How many rows were wrapped anew.
 */
export const rewrapKeys = async (
  { keys }: { readonly keys: Pick<KeyStore, 'keys' | 'page' | 'rewrap'> },
  { known }: { readonly known: Secret<Buffer> },
): Promise<number> => {
  const roots = rootsFrom([createWrapper(known.reveal())], await keys.keys(''))
  const { current } = roots
  let last = { tenant_id: '', purpose: '', version: 0 }
  let done = 0
  for (;;) {
    const rows = await keys.page(last, BATCH)
    const changes = rows
      .filter((row) => !NOT_REWRAPPED.includes(row.purpose) && rootIdOf(row) !== current.id)
      .map((row) => {
        const key = roots.unwrap(row)
        if (key === undefined)
          throw new AppError(
            'invalid',
            `The key "${row.purpose}" version ${row.version} of tenant "${row.tenant_id}" does not open: it was altered. Restore the store from a backup, or delete that tenant; all other keys still open.`,
          )
        const { wrapped } = current.wrap(row, key, row.created_at)
        key.fill(0)
        const { tenant_id, purpose, version } = row
        return { tenant_id, purpose, version, from: row.wrapped, to: wrapped }
      })
    if (changes.length > 0) done += await keys.rewrap(changes)
    const end = rows.at(-1)
    if (end === undefined) return done
    last = end
  }
}

/** Ends a change when all keys are under the next root key: the previous one then opens nothing. False when some are not. */
export const endRootChange = (
  { keys }: { readonly keys: Pick<KeyStore, 'endRootChange'> },
  { to }: RootChange,
): Promise<boolean> => keys.endRootChange({ root: Buffer.from(to, 'hex'), drop: [NEXT_ROOT, PREVIOUS_ROOT] })
