import { type ClientBase, DatabaseError } from 'pg'
import type { IdempotencyLease } from '../types.ts'
import { type CommandName, runCommand } from '../write-commands.ts'
import { unknownOutcome, unreplicatedOutcome } from './errors.ts'
import { transactionSession } from './session.ts'
import { isUnreplicated } from './standby-check.ts'
import { forgetScope } from './tenant-scope.ts'

/** Commands of the service itself, on rows of all tenants. */
const SERVICE_WIDE: ReadonlySet<CommandName> = new Set([
  'logs.ingest',
  'tokens.purge',
  'purge.deleted-tenants',
  'tenants.create',
  'tenants.update',
  'tenants.delete',
  'idempotency.abandon-of',
])

/** Commands that move no change counter that anybody caches by. */
const SILENT: ReadonlySet<CommandName> = new Set([
  'tokens.create',
  'tokens.update',
  'tokens.delete',
  'tokens.purge',
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

/** What replicas listen for: a change counter has moved. */
export const CHANNEL = 'sidevault_changes'

/** What a transaction answers, and its last statements, which the commit follows in one packet. */
export interface Work<T> {
  readonly result: T
  readonly last?: Promise<unknown>
}

/**
 * Runs `work` in a transaction and answers after its commit, which is on disk then. What is thrown before the commit was
 * sent left nothing behind, nor did a last statement that the server refused; a commit whose answer is lost is thrown as
 * `gateway_timeout`.
 */
export const inTransaction = async <T>(client: ClientBase, work: () => Promise<Work<T>>): Promise<T> => {
  // Whatever the database's default is: commands take locks and read then what others committed before.
  // Sent ahead of the first statement, in one piece with it.
  const started = client.query('begin isolation level read committed')
  started.catch(() => {})
  let done: Work<T>
  try {
    done = await work()
    done.last?.catch(() => {})
    await started
  } catch (thrown) {
    // What was set inside is taken back too.
    forgetScope(client)
    await client.query('rollback').catch(() => {})
    throw thrown
  }
  const [last, committed] = await Promise.allSettled([done.last, client.query('commit')])
  if (committed.status === 'fulfilled' && committed.value.command === 'COMMIT') {
    if (isUnreplicated(client)) throw unreplicatedOutcome()
    return done.result
  }
  forgetScope(client)
  // By the server's own word; it answers in order, and so never came to the commit.
  if (last.status === 'rejected' && last.reason instanceof DatabaseError) throw last.reason
  if (committed.status === 'rejected') throw commitFailure(committed.reason)
  // The answer to the commit of a transaction that had failed.
  throw new Error('the transaction was rolled back')
}

const commitFailure = (thrown: unknown): unknown =>
  // The server's own word says that nothing was kept.
  thrown instanceof DatabaseError && thrown.severity === 'ERROR' ? thrown : unknownOutcome(thrown)

/** One command in a transaction of its own. */
export const runInTransaction = (
  client: ClientBase,
  command: CommandName,
  args: unknown,
  lease?: IdempotencyLease,
): Promise<unknown> =>
  inTransaction(client, async () => {
    const session = transactionSession(client, { serviceWide: SERVICE_WIDE.has(command) })
    const result = await runCommand(session, command, args, lease)
    return movesCounters(command) ? { result, last: client.query(`notify ${CHANNEL}`) } : { result }
  })
