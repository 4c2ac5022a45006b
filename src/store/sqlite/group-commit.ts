import { runCommand } from '../commands/registry.ts'
import type { Connection } from './connection.ts'
import { toWire } from './errors.ts'
import type { Answer, Job } from './protocol.ts'
import { createSqliteSession } from './session.ts'

/**
 * Runs jobs in one transaction with one commit, so that they share its wait for the disk. A job that fails takes only
 * its own writes back; when the commit fails, all of them have failed. Never throws. A second call must wait for the first.
 */
export const createGroupCommit = (db: Connection): ((jobs: readonly Job[]) => Promise<readonly Answer[]>) => {
  const session = createSqliteSession(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const savepoint = db.prepare('savepoint job')
  const release = db.prepare('release job')
  const undo = db.prepare('rollback to job')

  const run = async ({ number, command, args, right }: Job): Promise<Answer> => ({
    number,
    ok: true,
    value: await runCommand(session, command, args, right),
  })

  /** Some failures (disk full, I/O) end the whole transaction: then no job of it may be answered as done. */
  const rethrowIfEnded = (thrown: unknown): void => {
    if (!db.inTransaction) throw thrown
  }

  const runApart = async (job: Job): Promise<Answer> => {
    savepoint.run()
    try {
      const answer = await run(job)
      release.run()
      return answer
    } catch (thrown) {
      rethrowIfEnded(thrown)
      undo.run()
      release.run()
      return { number: job.number, ok: false, error: toWire(thrown) }
    }
  }

  /** Undefined, and nothing written, when one of them fails. */
  const runAll = async (jobs: readonly Job[]): Promise<readonly Answer[] | undefined> => {
    const answers: Answer[] = []
    try {
      for (const job of jobs) answers.push(await run(job))
      return answers
    } catch (thrown) {
      rethrowIfEnded(thrown)
      rollback.run()
      return undefined
    }
  }

  const runEach = async (jobs: readonly Job[]): Promise<readonly Answer[]> => {
    begin.run()
    const answers: Answer[] = []
    for (const job of jobs) answers.push(await runApart(job))
    return answers
  }

  return async (jobs) => {
    try {
      begin.run()
      // Savepoints copy each page that changes under them, a third of an insert's cost; few jobs fail.
      const answers = (await runAll(jobs)) ?? (await runEach(jobs))
      commit.run()
      return answers
    } catch (thrown) {
      const error = toWire(thrown)
      if (db.inTransaction) db.exec('rollback')
      return jobs.map(({ number }) => ({ number, ok: false, error }))
    }
  }
}
