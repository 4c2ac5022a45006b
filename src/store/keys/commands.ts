import { AppError } from '../../common/errors.ts'
import { buffer } from '../bytes.ts'
import { bumpChange } from '../changes.ts'
import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import { keyLock } from './data-key-guard.ts'
import {
  CLOSED,
  dateKey,
  deleteKey,
  insertKey,
  KEY_CHANGES,
  keyOutside,
  keysOfTenant,
  replaceKey,
} from './statements.ts'
import type { KeyChange, KeyName, KeyRow, RootChangeEnd } from './types.ts'

/** Serializes key creation and root key changes. */
const ROOT_LOCK = 'root key'

/** Purpose of the key that only verifies the root key. It is as old as the root key's use. */
const CHECK = 'check'

/** Purpose of the former root key, while a root key change is in progress. */
const PREVIOUS_ROOT = 'root-previous'

/** Purpose of the keys of the forward proxy's authority. */
const FORWARD_CA = 'forward-ca'

/** Prefix of a key wrapped by a root key. Other rows hold no key, or one under another key. */
const FORMAT = Buffer.of(1)

/** Position of the root key id in a wrapped key: bytes 2 to 9. */
const rootOf = ({ wrapped }: Pick<KeyRow, 'wrapped'>): string => buffer(wrapped).toString('hex', 1, 9)

/** Keys that are added while the service runs. Those of a root key change are wrapped by two root keys. */
const isAdded = ({ tenant_id, purpose }: KeyRow): boolean => tenant_id !== '' || purpose === FORWARD_CA

/** A process that missed the end of a rotation would add keys that no root key opens. */
const rejectOldRoot = async (session: Session, keys: readonly KeyRow[]): Promise<void> => {
  const wrapped = keys.filter((key) => isAdded(key) && key.wrapped[0] === FORMAT[0])
  if (wrapped.length === 0) return
  await session.lock(ROOT_LOCK)
  const service = await session.all(keysOfTenant, { tenant_id: '' })
  const check = service.find(({ purpose }) => purpose === CHECK)
  if (check === undefined || service.some(({ purpose }) => purpose === PREVIOUS_ROOT)) return
  const root = rootOf({ wrapped: buffer(check.wrapped) })
  if (wrapped.some((key) => rootOf(key) !== root))
    throw new AppError(
      'gateway_timeout',
      'The root key was rotated while a key was created under the old one. Retry.',
    )
}

/** All or nothing: `conflict` when one of them exists already. */
export const addKeys = defineCommand({
  name: 'keys.add',
  run: async (session: Session, { keys }: { readonly keys: readonly KeyRow[] }): Promise<void> => {
    await rejectOldRoot(session, keys)
    for (const key of keys)
      if ((await session.run(insertKey, key)) === 0)
        throw new AppError(
          'conflict',
          'A key of this purpose and version exists already. Read the keys again.',
        )
    await session.run(bumpChange, { kind: KEY_CHANGES })
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

/** Number of rows that still matched the expected value and were replaced. */
export const rewrapKeys = defineCommand({
  name: 'keys.rewrap',
  run: async (session: Session, { changes }: { readonly changes: readonly KeyChange[] }): Promise<number> => {
    let replaced = 0
    for (const change of changes) replaced += await session.run(replaceKey, change)
    if (replaced > 0) await session.run(bumpChange, { kind: KEY_CHANGES })
    return replaced
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

/** After the commit no value is sealed under these versions. */
export const closeDataKeys = defineCommand({
  name: 'keys.close',
  run: async (
    session: Session,
    {
      tenantId: tenant_id,
      version,
      now,
    }: { readonly tenantId: string; readonly version: number; readonly now: number },
  ): Promise<void> => {
    await session.lock(keyLock(tenant_id))
    const row = { tenant_id, purpose: CLOSED, version, wrapped: Buffer.alloc(0), created_at: now }
    await session.run(insertKey, row)
    await session.run(bumpChange, { kind: KEY_CHANGES })
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

export const removeKeys = defineCommand({
  name: 'keys.remove',
  run: async (session: Session, { keys }: { readonly keys: readonly KeyName[] }): Promise<void> => {
    for (const tenant of new Set(keys.map(({ tenant_id }) => tenant_id))) await session.lock(keyLock(tenant))
    for (const key of keys) await session.run(deleteKey, key)
    await session.run(bumpChange, { kind: KEY_CHANGES })
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: true,
})

/** False, and no change, while another root key still wraps a key. */
export const endRootChange = defineCommand({
  name: 'keys.end-root-change',
  run: async (
    session: Session,
    { end: { root, drop } }: { readonly end: RootChangeEnd },
  ): Promise<boolean> => {
    await session.lock(ROOT_LOCK)
    const left = await session.get(keyOutside, { format: FORMAT, root, drop: session.dialect.list(drop) })
    if (left !== undefined) return false
    const rotated = (await session.all(keysOfTenant, { tenant_id: '' })).find(
      ({ purpose }) => purpose === PREVIOUS_ROOT,
    )
    if (rotated !== undefined)
      await session.run(dateKey, {
        tenant_id: '',
        purpose: CHECK,
        version: 1,
        created_at: rotated.created_at,
      })
    for (const purpose of drop) await session.run(deleteKey, { tenant_id: '', purpose, version: 1 })
    await session.run(bumpChange, { kind: KEY_CHANGES })
    return true
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: true,
})
