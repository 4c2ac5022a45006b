import { buffer } from '../bytes.ts'
import { defineCommand } from '../command.ts'
import { requireKeys } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { insertRecordToken } from '../token-bindings.ts'
import { tokenStatesForShare } from '../tokens/statements.ts'
import {
  deleteExpired,
  deleteUnfinished,
  deleteUnused,
  deleteUnusedOf,
  endRunning,
  endRunningOf,
  insertRecord,
  recordByKey,
  storeResponse,
} from './statements.ts'
import type { BeginResult, FinishedRequest, IdempotencyStore, ShownToken } from './types.ts'

export const beginRequest = defineCommand({
  name: 'idempotency.begin',
  run: async (
    session: Session,
    { record, now }: { readonly record: Parameters<IdempotencyStore['begin']>[0]; readonly now: number },
  ): Promise<BeginResult> => {
    const { tenantId: tenant_id, key, operation, holder, process = '', runningUntil: running_until } = record
    const expires_at = record.effects ? record.expiresAt : running_until
    await session.lock(`idempotency ${tenant_id} ${buffer(key).toString('hex')}`)
    const there = await session.get(recordByKey, { tenant_id, key })
    if (there && there.expires_at > now) {
      const { sealed, shown, shown_until } = there
      if (sealed === null) return { kind: there.running_until > now ? 'running' : 'indeterminate' }
      const isShown = shown !== null && (shown_until === null || shown_until > now)
      return { kind: 'done', sealed: buffer(sealed), ...(isShown ? { shown: buffer(shown) } : {}) }
    }
    // Since it was read, its holder may have written, or the purge removed it.
    if (there) await session.run(deleteExpired, { tenant_id, key, now })
    const row = { tenant_id, key, operation, holder, process, running_until, expires_at }
    return { kind: (await session.run(insertRecord, row)) > 0 ? 'started' : 'running' }
  },
  tenantOf: ({ record }) => record.tenantId,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

/** False when a token is gone or differs from the stored response: its writer did not know this response yet. */
const areAsShown = async (
  session: Session,
  tenant_id: string,
  tokens: readonly ShownToken[],
  now: number,
): Promise<boolean> => {
  if (tokens.length === 0) return true
  const ids = session.dialect.list(tokens.map(({ id }) => id))
  const states = await session.all(tokenStatesForShare, { tenant_id, ids, now })
  const byId = new Map(states.map((state) => [state.id, state]))
  return tokens.every(({ id, created_at, version }) => {
    const state = byId.get(id)
    return state?.created_at === created_at && state.version === version
  })
}

export const finishRequest = defineCommand({
  name: 'idempotency.finish',
  run: async (
    session: Session,
    { record, now }: { readonly record: FinishedRequest; readonly now: number },
  ): Promise<void> => {
    const { tenantId: tenant_id, key, holder, sealed, expiresAt: expires_at, shown } = record
    await requireKeys(session, tenant_id, [sealed, shown?.sealed])
    const stored = shown && (await areAsShown(session, tenant_id, shown.tokens, now)) ? shown : undefined
    const row = { tenant_id, key, holder, sealed, expires_at }
    const shownRow = { shown: stored?.sealed ?? null, shown_until: stored?.until ?? null }
    if ((await session.run(storeResponse, { ...row, ...shownRow })) === 0) return
    const ids = [...new Set(stored?.tokens.map(({ id }) => id))]
    await session.runAll(
      insertRecordToken,
      ids.map((token_id) => ({ tenant_id, token_id, key })),
    )
  },
  tenantOf: ({ record }) => record.tenantId,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

export const abandonRequest = defineCommand({
  name: 'idempotency.abandon',
  run: async (
    session: Session,
    { record, now }: { readonly record: Parameters<IdempotencyStore['abandon']>[0]; readonly now: number },
  ): Promise<void> => {
    const { tenantId: tenant_id, key, holder, certain } = record
    const lease = { tenant_id, key, holder }
    if ((await session.run(certain ? deleteUnfinished : deleteUnused, lease)) > 0 || certain) return
    await session.run(endRunning, { ...lease, running_until: now })
  },
  tenantOf: ({ record }) => record.tenantId,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

export const abandonRequestsOf = defineCommand({
  name: 'idempotency.abandon-of',
  run: async (
    session: Session,
    { process, now }: { readonly process: string; readonly now: number },
  ): Promise<void> => {
    await session.run(deleteUnusedOf, { process })
    await session.run(endRunningOf, { process, running_until: now })
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})
