import {
  abandonRequest,
  abandonRequestsOf,
  beginRequest,
  finishRequest,
  requireLease,
} from './idempotency/commands.ts'
import { addKeys, closeDataKeys, endRootChange, removeKeys, rewrapKeys } from './keys/commands.ts'
import type { IdempotencyLease } from './lease.ts'
import { ingestLogs } from './logs/ingest.ts'
import { purgeDeletedTenant, purgeExpired } from './purge/commands.ts'
import { commitRecords } from './records/commit.ts'
import { replaceSealed } from './reencrypt/commands.ts'
import type { Session } from './session.ts'
import { createTenant, deleteTenant, updateTenant } from './tenants/commands.ts'
import { associateTokens, dissociateTokens } from './tokens/associate.ts'
import { deleteOneToken, purgeDue, updateOneToken } from './tokens/change.ts'
import { createTokens } from './tokens/create.ts'
import { probeWrite } from './write-probe.ts'

/**
 * Every write of the store, by name. A command runs in its own transaction; arguments and result are plain data, so that
 * it can run on another thread. A command that throws has no effect.
 */
const commands = {
  'tokens.create': createTokens,
  'tokens.update': updateOneToken,
  'tokens.delete': deleteOneToken,
  'tokens.purge': purgeDue,
  'tokens.associate': associateTokens,
  'tokens.dissociate': dissociateTokens,
  'records.commit': commitRecords,
  'tenants.create': createTenant,
  'tenants.update': updateTenant,
  'tenants.delete': deleteTenant,
  'keys.add': addKeys,
  'keys.rewrap': rewrapKeys,
  'keys.close': closeDataKeys,
  'keys.remove': removeKeys,
  'keys.end-root-change': endRootChange,
  'reencrypt.replace': replaceSealed,
  'logs.ingest': ingestLogs,
  'idempotency.begin': beginRequest,
  'idempotency.finish': finishRequest,
  'idempotency.abandon': abandonRequest,
  'idempotency.abandon-of': abandonRequestsOf,
  'purge.expired': purgeExpired,
  'purge.deleted-tenant': purgeDeletedTenant,
  'health.touch': (session: Session, _: Record<string, never>) => probeWrite(session),
} as const

export type CommandName = keyof typeof commands

export type Commands = {
  readonly [N in CommandName]: {
    readonly args: Parameters<(typeof commands)[N]>[1]
    readonly result: Awaited<ReturnType<(typeof commands)[N]>>
  }
}

/** Runs one command by its name; with a `lease`, under it (`IdempotencyStore.runWithLease`). */
export const runCommand = async (
  session: Session,
  name: CommandName,
  args: unknown,
  lease?: IdempotencyLease,
): Promise<unknown> => {
  const result = await (commands[name] as (session: Session, args: unknown) => Promise<unknown>)(
    session,
    args,
  )
  if (lease !== undefined) await requireLease(session, lease)
  return result
}
