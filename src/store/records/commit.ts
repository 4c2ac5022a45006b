import { AppError, concurrentChange } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { endOf, nameOf, textMember, textsMember } from '../../common/record-members.ts'
import { bumpChange } from '../changes.ts'
import { defineCommand } from '../command.ts'
import { requireKeys, sealedIn } from '../keys/data-key-guard.ts'
import type { Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { tokenEntry, tokensOfRecord } from '../token-bindings.ts'
import { tokenStatesForShare } from '../tokens/statements.ts'
import {
  deleteIndexes,
  deleteLookups,
  deleteObsoleteLookup,
  deleteRecord,
  hostEntry,
  insertIndex,
  insertLookup,
  insertMac,
  insertRecord,
  originEntry,
  recordByIdForUpdate,
  replaceRecord,
} from './statements.ts'
import type { StoredMutation } from './types.ts'

const notUnique = () =>
  new AppError('conflict', 'Another record has this id, or a value that must be unique. Choose another.')

const notCurrent = () =>
  concurrentChange('The record was changed or deleted since it was read. Read it again and retry.')

/** False when a live tenant has the value; those of deleted tenants are free. */
const claimLookup = async (session: Session, row: Schema['record_lookups']): Promise<boolean> => {
  if ((await session.run(insertLookup, row)) > 0) return true
  return (await session.run(deleteObsoleteLookup, row)) > 0 && (await session.run(insertLookup, row)) > 0
}

const writeMembers = async (session: Session, seq: number, mutation: StoredMutation): Promise<void> => {
  const { collection, tenantId, record, shape, mac, unique = {} } = mutation
  if (mac !== undefined) await session.run(insertMac, { seq, tenant_id: tenantId, mac })
  for (const member of new Set(shape.indexes)) {
    const value = textMember(record, member)
    if (value !== undefined)
      await session.run(insertIndex, { collection, tenant_id: tenantId, member, value, seq })
  }
  if (shape.hosts !== undefined)
    for (const host of new Set(textsMember(record, shape.hosts)))
      await session.run(insertIndex, hostEntry({ collection, tenant_id: tenantId, host }, seq))
  if (shape.origins !== undefined)
    for (const origin of new Set(textsMember(record, shape.origins)))
      await session.run(insertLookup, originEntry(origin, seq))
  const lookups = [...new Set(shape.lookups)].map((member) => [member, textMember(record, member)] as const)
  for (const [member, value] of [...lookups, ...Object.entries(unique)]) {
    if (value === undefined) continue
    if (!(await claimLookup(session, { collection, member, value, seq }))) throw notUnique()
  }
}

/**
 * Binds a record to its tokens; replaces the bindings of an earlier version. Rejects when a token is deleted, or
 * expires before the record.
 */
const writeTokens = async (
  session: Session,
  seq: number,
  { tenantId: tenant_id, record, shape }: StoredMutation,
  now: number,
): Promise<void> => {
  const ids: unknown = shape.tokens !== undefined && isObject(record) ? record[shape.tokens] : undefined
  if (!Array.isArray(ids) || ids.length === 0) return
  const bound = new Set((await session.all(tokensOfRecord, { seq })).map(({ value }) => value))
  const fresh = [...new Set(ids.map(String))].filter((id) => !bound.has(id))
  if (fresh.length === 0) return
  const list = session.dialect.list(fresh)
  const end = endOf(record, shape.expires) ?? Number.POSITIVE_INFINITY
  const states = await session.all(tokenStatesForShare, { tenant_id, ids: list, now })
  if (
    states.length < fresh.length ||
    states.some(({ expires_at }) => expires_at !== null && expires_at < end)
  )
    throw concurrentChange('A token was deleted, or its expiry was changed, during the call. Retry.')
  for (const token_id of fresh) await session.run(insertIndex, tokenEntry({ tenant_id, token_id }, seq))
}

const apply = async (session: Session, mutation: StoredMutation, now: number): Promise<void> => {
  const { kind, collection, tenantId, id, record } = mutation
  const key = { collection, tenant_id: tenantId, id }
  if (kind === 'insert') {
    const values = {
      ...key,
      name: nameOf(record),
      body: JSON.stringify(record),
      created_at: now,
      expires_at: endOf(record, mutation.shape.expires),
    }
    const seq = await session.insert(insertRecord, values)
    if (seq === undefined) throw notUnique()
    await writeMembers(session, seq, mutation)
    await writeTokens(session, seq, mutation, now)
    return
  }
  const current = await session.get(recordByIdForUpdate, key)
  if (!current) throw notCurrent()
  const { seq } = current
  const version = mutation.version ?? current.version
  if (kind === 'delete') {
    if ((await session.run(deleteRecord, { seq, version })) === 0) throw notCurrent()
    return
  }
  const values = {
    seq,
    version,
    name: nameOf(record),
    body: JSON.stringify(record),
    expires_at: endOf(record, mutation.shape.expires),
  }
  if ((await session.run(replaceRecord, values)) === 0) throw notCurrent()
  await session.run(deleteIndexes, { seq, collection })
  await session.run(deleteLookups, { seq })
  await writeMembers(session, seq, mutation)
  await writeTokens(session, seq, mutation, now)
}

/** All or nothing, in order; then each collection's change counter moves by one. */
export const commitRecords = defineCommand({
  name: 'records.commit',
  run: async (
    session: Session,
    { mutations, now }: { readonly mutations: readonly StoredMutation[]; readonly now: number },
  ): Promise<void> => {
    for (const [tenantId, own] of Map.groupBy(mutations, (mutation) => mutation.tenantId))
      await requireKeys(
        session,
        tenantId,
        own.flatMap(({ record, mac }) => [...sealedIn(record), mac]),
      )
    for (const mutation of mutations) await apply(session, mutation, now)
    // One order everywhere, so that two transactions never deadlock.
    for (const kind of [...new Set(mutations.map(({ collection }) => collection))].sort())
      await session.run(bumpChange, { kind })
  },
  tenantOf: ({ mutations }) => mutations[0]?.tenantId,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})
