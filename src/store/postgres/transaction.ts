import { type ClientBase, DatabaseError } from 'pg'
import type { Command, Work } from '../command.ts'
import type { IdempotencyLease } from '../lease.ts'
import { runCommand } from '../run-command.ts'
import { unknownOutcome, unreplicatedOutcome } from './errors.ts'
import { discard } from './pool.ts'
import { setStarting, transactionSession } from './session.ts'
import { isUnreplicated } from './standby-check.ts'
import { forgetScope } from './tenant-scope.ts'

/**
 * Whatever the database default: commands take locks, then read what others committed before. A write that is sent
 * before the response to this checks the setting (`IS_STARTED`): after a failed `begin` it would commit by itself.
 */
const BEGIN = "begin isolation level read committed; set local sidevault.started to 'true'"

/**
 * Runs `work` in a transaction and resolves once its commit is on disk. An error thrown before the commit was sent has
 * no effect, nor has one of a last statement that the server rejected; a commit with unknown result throws
 * `gateway_timeout`.
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
    // Without a start the work's own error is only a consequence.
    await started
    throw thrown
  }
  const [last, committed] = await Promise.allSettled([done.last, client.query('commit')])
  if (committed.status === 'fulfilled' && committed.value.command === 'COMMIT') {
    // A last statement that was never sent: the session throws for those before the commit.
    if (last.status === 'rejected') throw unknownOutcome(last.reason)
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
export const runInTransaction = <A extends object, R>(
  client: ClientBase,
  command: Command<A, R>,
  args: A,
  lease?: IdempotencyLease,
): Promise<R> =>
  inTransaction(client, async () => {
    const session = transactionSession(client, command.scope)
    return { result: await runCommand(session, command, args, lease) }
  })
