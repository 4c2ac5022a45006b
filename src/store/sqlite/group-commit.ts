import type { Batch } from '../command.ts'
import { commandNamed } from '../commands.ts'
import { runCommand } from '../run-command.ts'
import type { Connection } from './connection.ts'
import { toWire } from './errors.ts'
import type { Job, Result } from './protocol.ts'
import { createSqliteSession } from './session.ts'

type AnyBatch = Batch<never, unknown>

/** The batch of a command; a job under a lease stays alone, since it checks that lease at its own end. */
const batchOf = ({ command, lease }: Job): AnyBatch | undefined =>
  lease === undefined ? commandNamed(command).batch : undefined

/** Jobs from the front that are run together: one, or consecutive ones of a command that has batches. */
const nextRun = (jobs: readonly Job[]): readonly Job[] => {
  const [first] = jobs
  const batch = first && batchOf(first)
  if (batch === undefined) return jobs.slice(0, 1)
  const end = jobs.findIndex((job) => batchOf(job) !== batch)
  const same = end === -1 ? jobs : jobs.slice(0, end)
  return same.slice(0, batch.size(same.map(({ args }) => args as never)))
}

/**
 * Runs jobs in one transaction with one commit, so that they share its disk sync. A failed job rolls back only its own
 * writes; when the commit fails, all jobs fail. Never throws. A second call must wait for the first.
 *
 * `arrived`: calls that were sent since; those that come during maintenance are added to its `jobs`, and share its
 * commit.
 */
export const createGroupCommit = (
  db: Connection,
  arrived: () => readonly Job[] = () => [],
): ((jobs: Job[]) => Promise<readonly Result[]>) => {
  let current: Job[] = []
  const addArrived = (): boolean => {
    const calls = arrived()
    current.push(...calls)
    return calls.length > 0
  }
  const session = createSqliteSession(db, { isAwaited: addArrived })
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const savepoint = db.prepare('savepoint job')
  const release = db.prepare('release job')
  const undo = db.prepare('rollback to job')

  const run = async ({ number, command: name, args, lease }: Job): Promise<Result> => {
    const command = commandNamed(name)
    const began = performance.now()
    const value = await runCommand(session, command, args as never, lease)
    if (!command.isMaintenance) return { number, ok: true, value }
    const ms = performance.now() - began
    addArrived()
    return { number, ok: true, value, ms }
  }

  const runTogether = async (jobs: readonly Job[]): Promise<readonly Result[]> => {
    const [first, second] = jobs
    if (first === undefined) return []
    const batch = batchOf(first)
    if (second === undefined || batch === undefined) return [await run(first)]
    const { result, last } = await batch.run(
      session,
      jobs.map(({ args }) => args as never),
    )
    await last
    return jobs.map(({ number }, at) => ({ number, ok: true, value: result[at] }))
  }

  /** Some failures (disk full, I/O) end the entire transaction: then no job of it has succeeded. */
  const rethrowIfEnded = (thrown: unknown): void => {
    if (!db.inTransaction) throw thrown
  }

  const runApart = async (job: Job): Promise<Result> => {
    savepoint.run()
    try {
      const result = await run(job)
      release.run()
      return result
    } catch (thrown) {
      rethrowIfEnded(thrown)
      undo.run()
      release.run()
      return { number: job.number, ok: false, error: toWire(thrown) }
    }
  }

  /** Undefined, and nothing written, when a job fails. */
  const runAll = async (jobs: readonly Job[]): Promise<readonly Result[] | undefined> => {
    const results: Result[] = []
    try {
      while (results.length < jobs.length)
        results.push(...(await runTogether(nextRun(jobs.slice(results.length)))))
      return results
    } catch (thrown) {
      rethrowIfEnded(thrown)
      rollback.run()
      return undefined
    }
  }

  const runEach = async (jobs: readonly Job[]): Promise<readonly Result[]> => {
    begin.run()
    const results: Result[] = []
    for (const job of jobs) results.push(await runApart(job))
    return results
  }

  return async (jobs) => {
    current = jobs
    try {
      begin.run()
      // Savepoints copy each changed page, a third of an insert's cost; few jobs fail.
      const results = (await runAll(jobs)) ?? (await runEach(jobs))
      commit.run()
      return results
    } catch (thrown) {
      const error = toWire(thrown)
      if (db.inTransaction) db.exec('rollback')
      return jobs.map(({ number }) => ({ number, ok: false, error }))
    }
  }
}
