import { type Create, createTogether } from '../tokens/create.ts'
import { runCommand } from '../write-commands.ts'
import type { Connection } from './connection.ts'
import { toWire } from './errors.ts'
import type { Job, Result } from './protocol.ts'
import { createSqliteSession } from './session.ts'

/** A create that may be batched; one under a lease checks that lease at its own end. */
const isPlainCreate = ({ command, lease }: Job): boolean => command === 'tokens.create' && lease === undefined

/** Groups consecutive plain creates; every other job stays alone. */
const runsOf = (jobs: readonly Job[]): readonly (readonly Job[])[] => {
  const runs: Job[][] = []
  let last: Job | undefined
  for (const job of jobs) {
    if (last !== undefined && isPlainCreate(last) && isPlainCreate(job)) runs.at(-1)?.push(job)
    else runs.push([job])
    last = job
  }
  return runs
}

/**
 * Runs jobs in one transaction with one commit, so that they share its disk sync. A failed job rolls back only its own
 * writes; when the commit fails, all jobs fail. Never throws. A second call must wait for the first.
 */
export const createGroupCommit = (db: Connection): ((jobs: readonly Job[]) => Promise<readonly Result[]>) => {
  const session = createSqliteSession(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const savepoint = db.prepare('savepoint job')
  const release = db.prepare('release job')
  const undo = db.prepare('rollback to job')

  const run = async ({ number, command, args, lease }: Job): Promise<Result> => ({
    number,
    ok: true,
    value: await runCommand(session, command, args, lease),
  })

  /** Writes the counters of all creates once: they cost as much as a token's own row. */
  const runTogether = async (jobs: readonly Job[]): Promise<readonly Result[]> => {
    const [first, second] = jobs
    if (first === undefined) return []
    if (second === undefined) return [await run(first)]
    const values = await createTogether(
      session,
      jobs.map(({ args }) => args as Create),
    )
    return jobs.map(({ number }, at) => ({ number, ok: true, value: values[at] }))
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
      for (const together of runsOf(jobs)) results.push(...(await runTogether(together)))
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
