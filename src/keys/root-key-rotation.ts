import { randomBytes } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import type { KeyChange, KeyRow, KeyStore } from '../store/keys/types.ts'
import { delegatedKeyOf, revokedNameOf } from './delegated-key.ts'
import { NEXT_ROOT, NOT_REWRAPPED, PREVIOUS_ROOT, rootsFrom } from './root-key-rows.ts'
import { createWrapper, rootIdOf } from './wrap.ts'

/** False for rows that hold no key, and for keys under the key of a delegation. */
const isUnderRoot = (row: KeyRow): boolean =>
  !NOT_REWRAPPED.includes(row.purpose) &&
  delegatedKeyOf(row) === undefined &&
  revokedNameOf(row) === undefined

/** Rows of one transaction. */
const BATCH = 200

/** A root key rotation in progress: ids of both keys. */
export interface RootChange {
  readonly from: string
  readonly to: string
}

export const newRootKeyText = (): string => `${randomBytes(32).toString('base64')}\n`

/** The id of a root key in key rows: 16 hex digits. The key cannot be derived from it. */
export const rootKeyId = (rootKey: Secret<Buffer>): string => createWrapper(rootKey.reveal()).id

/** The root key rotation in progress, from the service's rows. Undefined if there is none. */
export const rootChangeIn = (rows: readonly KeyRow[]): RootChange | undefined => {
  const idOf = (purpose: string) => {
    const row = rows.find((candidate) => candidate.tenant_id === '' && candidate.purpose === purpose)
    return row && rootIdOf(row)
  }
  const [from, to] = [idOf(NEXT_ROOT), idOf(PREVIOUS_ROOT)]
  return from === undefined || to === undefined ? undefined : { from, to }
}

/**
 * Stores each root key wrapped by the other, in one transaction. From then on, processes that start with either key can
 * open every row, and running processes load the new key. `from` must be the store's root key. Rejects with `invalid`
 * if both are the same key, with `conflict` if another rotation has started.
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
    /** The row of the new root key, if a key management service wraps it. */
    readonly row?: KeyRow | undefined
    readonly now: number
  },
): Promise<void> => {
  const [old, fresh] = [createWrapper(from.reveal()), createWrapper(to.reveal())]
  if (old.id === fresh.id)
    throw new AppError('invalid', 'The new root key is the same as the old one. Set another source for it.')
  const added = await keys.add([
    old.wrap({ tenant_id: '', purpose: NEXT_ROOT, version: 1 }, to.reveal(), now),
    fresh.wrap({ tenant_id: '', purpose: PREVIOUS_ROOT, version: 1 }, from.reveal(), now),
    ...(row === undefined ? [] : [row]),
  ])
  if (!added)
    throw new AppError('conflict', 'Another command has started a root key rotation. Run this one again.')
}

/**
 * Swaps both root keys of a rotation in progress, in one transaction: it then leads back to the old one. `known`: the
 * old root key. Rejects with `conflict` if another command has changed the rotation.
 */
export const reverseRootChange = async (
  { keys }: { readonly keys: Pick<KeyStore, 'keys' | 'rewrap'> },
  { known }: { readonly known: Secret<Buffer> },
): Promise<void> => {
  const rows = await keys.keys('')
  const [next, previous] = [NEXT_ROOT, PREVIOUS_ROOT].map((wanted) =>
    rows.find(({ purpose }) => purpose === wanted),
  )
  const old = createWrapper(known.reveal())
  const fresh = next && old.unwrap(next)
  if (next === undefined || previous === undefined || fresh === undefined)
    throw new AppError('conflict', 'Another command has changed the root key rotation. Run this one again.')
  const swap = (row: KeyRow, { wrapped }: KeyRow): KeyChange => {
    const { tenant_id, purpose, version, wrapped: from } = row
    return { tenant_id, purpose, version, from, to: wrapped }
  }
  await keys.rewrap([
    swap(next, createWrapper(fresh).wrap(next, known.reveal(), next.created_at)),
    swap(previous, old.wrap(previous, fresh, previous.created_at)),
  ])
  fresh.fill(0)
}

/**
 * Wraps every key with the next root key, in batches. Skips rows that are wrapped with it, so it can be stopped and run
 * again. Resolves with the number of rewrapped rows. Rejects with `invalid` at a row that cannot be unwrapped; that row
 * is not changed.
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
      .filter((row) => isUnderRoot(row) && rootIdOf(row) !== current.id)
      .map((row) => {
        const key = roots.unwrap(row)
        if (key === undefined)
          throw new AppError(
            'invalid',
            `The key "${row.purpose}" version ${row.version} of tenant "${row.tenant_id}" cannot be unwrapped: it was modified. Restore the store from a backup, or delete that tenant. All other keys still work.`,
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

/**
 * Ends a rotation: the previous root key then opens nothing. Resolves with false if some keys still use the previous
 * one.
 */
export const endRootChange = (
  { keys }: { readonly keys: Pick<KeyStore, 'endRootChange'> },
  { to }: RootChange,
): Promise<boolean> => keys.endRootChange({ root: Buffer.from(to, 'hex'), drop: [NEXT_ROOT, PREVIOUS_ROOT] })
