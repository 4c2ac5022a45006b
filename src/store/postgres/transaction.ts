import { type ClientBase, DatabaseError } from 'pg'
import type { IdempotencyLease } from '../lease.ts'
import { type CommandName, runCommand } from '../write-commands.ts'
import { unknownOutcome, unreplicatedOutcome } from './errors.ts'
import { discard } from './pool.ts'
import { setStarting, transactionSession } from './session.ts'
import { isUnreplicated } from './standby-check.ts'
import { forgetScope } from './tenant-scope.ts'

/** Commands of the service itself, on rows of all tenants. */
const SERVICE_WIDE: ReadonlySet<CommandName> = new Set([
  'logs.ingest',
  'tokens.purge',
  'purge.expired',
  'purge.deleted-tenant',
  'tenants.create',
  'tenants.update',
  'tenants.delete',
  'idempotency.abandon-of',
])

/** Commands that change no change counter used for caching. */
const SILENT: ReadonlySet<CommandName> = new Set([
  'tokens.create',
  'tokens.update',
  'tokens.delete',
  'tokens.purge',
  'purge.expired',
  'purge.deleted-tenant',
  'tokens.associate',
  'tokens.dissociate',
  'logs.ingest',
  'idempotency.begin',
  'idempotency.finish',
  'idempotency.abandon',
  'idempotency.abandon-of',
  'health.touch',
])

export const movesCounters = (command: CommandName): boolean => !SILENT.has(command)

/** Result of a transaction, and its last statements, which are sent in one packet with the commit. */
export interface Work<T> {
  readonly result: T
  readonly last?: Promise<unknown>
}

/**
 * Whatever the database default: commands take locks, then read what others committed before. A write that is sent
 * before the response to this checks the setting (`IS_STARTED`): after a failed `begin` it would commit by itself.
 */
const BEGIN = "begin isolation level read committed; set local sidevault.started to 'true'"
/** SQL condition: this transaction has started. */
export const IS_STARTED = "current_setting('sidevault.started', true) = 'true'"

/**
 * Runs `work` in a transaction and resolves once its commit is on disk. An error thrown before the commit was sent has no
 * effect, nor has one of a last statement that the server rejected; a commit with unknown result throws `gateway_timeout`.
 */
export const inTransaction = async <T>(client: ClientBase, work: () => Promise<Work<T>>): Promise<T> => {
  // Sent ahead of the first statement, in one packet with it.
  const started = client.query(BEGIN)
  setStarting(client, started)
  let done: Work<T>
  try {
    done = await work()
    done.last?.catch(() => {})
    await started
  } catch (thrown) {
    // The rollback reverts the scope set inside too.
    forgetScope(client)
    await client.query('rollback').catch(() => discard(client))
    setStarting(client, undefined)
    throw thrown
  }
  const [last, committed] = await Promise.allSettled([done.last, client.query('commit')])
  if (committed.status === 'fulfilled' && committed.value.command === 'COMMIT') {
    if (isUnreplicated(client)) throw unreplicatedOutcome()
    return done.result
  }
  forgetScope(client)
  // The server reported the error; it processes in order, so it never reached the commit.
  if (last.status === 'rejected' && last.reason instanceof DatabaseError) throw last.reason
  if (committed.status === 'rejected') throw commitFailure(committed.reason)
  // Result of the commit of a failed transaction.
  throw new Error('the transaction was rolled back')
}

const commitFailure = (thrown: unknown): unknown =>
  // The server reported that nothing was written.
  thrown instanceof DatabaseError && thrown.severity === 'ERROR' ? thrown : unknownOutcome(thrown)

/** One command in its own transaction. */
export const runInTransaction = (
  client: ClientBase,
  command: CommandName,
  args: unknown,
  lease?: IdempotencyLease,
): Promise<unknown> =>
  inTransaction(client, async () => {
    const session = transactionSession(client, { serviceWide: SERVICE_WIDE.has(command) })
    return { result: await runCommand(session, command, args, lease) }
  })
