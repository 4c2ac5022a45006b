import { preconditionFailed } from '../../common/conditional-call.ts'
import { defineCommand } from '../command.ts'
import { requireKeys } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { clearShown, deleteRecordsOfToken, deleteRecordsOutliving } from '../token-bindings.ts'
import { createCounts } from './counts.ts'
import { lockFingerprints } from './create.ts'
import { writeSearchRows } from './search-rows.ts'
import {
  deleteMetadata,
  deleteTerms,
  deleteToken,
  deleteTokenVersion,
  expiredTokens,
  purgeEphemerals,
  purgeTokens,
  tokenByFingerprint,
  tokenById,
  updateToken,
} from './statements.ts'
import { jsonColumns, toTokenRow } from './token-row.ts'
import type { TokenRow, TokenUpdate, Updated } from './types.ts'

export const updateOneToken = defineCommand({
  name: 'tokens.update',
  run: async (
    session: Session,
    { update, now }: { readonly update: TokenUpdate; readonly now: number },
  ): Promise<Updated> => {
    const { row, version, terms, deduplicate } = update
    const { tenant_id, id, seq } = row
    const current = await session.get(tokenById, { tenant_id, id, now })
    if (!current) return { kind: 'gone' }
    // Another seq is another token: the one that was read was deleted and its id reused.
    if (current.version !== version || current.seq !== seq) return { kind: 'stale' }
    await requireKeys(session, tenant_id, [row.sealed, row.ephemeral])
    if (deduplicate && row.fingerprint !== null) {
      await lockFingerprints(session, tenant_id, [row])
      const key = { tenant_id, fingerprint: row.fingerprint, container: row.container, seq, now }
      const duplicate = (await session.getAll(tokenByFingerprint, [key])).get(key)
      if (duplicate) return { kind: 'duplicate', token: toTokenRow(duplicate, now) }
    }
    if ((await session.run(updateToken, { ...row, ...jsonColumns(row), version })) === 0)
      return { kind: 'stale' }
    await session.run(clearShown, { tenant_id, token_id: id })
    const { expires_at } = row
    if (expires_at !== null && expires_at !== current.expires_at)
      await session.run(deleteRecordsOutliving, { tenant_id, token_id: id, expires_at })
    await session.run(deleteTerms, { seq })
    await session.run(deleteMetadata, { seq })
    await Promise.all(writeSearchRows(session, [{ ...row, terms }]))
    const counts = createCounts()
    counts.removed(current)
    counts.arrived(row)
    await counts.write(session)
    return { kind: 'updated' }
  },
  tenantOf: ({ update }) => update.row.tenant_id,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

/**
 * False when there was no live token. `expected`: rejects with `precondition_failed` when the token is another row now.
 */
export const deleteOneToken = defineCommand({
  name: 'tokens.delete',
  run: async (
    session: Session,
    {
      tenantId,
      id,
      now,
      expected,
    }: {
      readonly tenantId: string
      readonly id: string
      readonly now: number
      readonly expected?: Pick<TokenRow, 'seq' | 'version'> | undefined
    },
  ): Promise<boolean> => {
    const key = { tenant_id: tenantId, id }
    const removed =
      expected === undefined
        ? await session.get(deleteToken, key)
        : await session.get(deleteTokenVersion, { tenant_id: tenantId, ...expected })
    if (!removed) {
      if (expected !== undefined && (await session.get(tokenById, { ...key, now })))
        throw preconditionFailed()
      return false
    }
    await session.run(clearShown, { tenant_id: tenantId, token_id: id })
    await session.run(deleteRecordsOfToken, { tenant_id: tenantId, token_id: id })
    const counts = createCounts()
    counts.removed(removed)
    await counts.write(session)
    return removed.expires_at === null || removed.expires_at > now
  },
  tenantOf: ({ tenantId }) => tenantId,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

/** Returns the number of removed tokens and ephemerals, at most `limit` of each. */
export const purgeDueTokens = defineCommand({
  name: 'tokens.purge',
  run: async (
    session: Session,
    { now, limit }: { readonly now: number; readonly limit: number },
  ): Promise<number> => {
    await session.lock('purge')
    const due = (await session.all(expiredTokens, { now, limit })).map(({ seq }) => seq)
    const seqs = session.dialect.list(due)
    const purged = await session.all(purgeTokens, { seqs, now })
    const counts = createCounts()
    for (const token of purged) counts.removed(token)
    const ephemerals = await session.run(purgeEphemerals, { now, limit })
    await counts.write(session)
    return purged.length + ephemerals
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})
