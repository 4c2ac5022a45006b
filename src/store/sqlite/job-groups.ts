import { AppError } from '../../common/errors.ts'
import { toWire } from './errors.ts'
import { createGathering } from './gathering.ts'
import type { Job, Result } from './protocol.ts'
import { createJobQueue, type WaitingJob } from './queue.ts'

interface JobGroups {
  push(job: WaitingJob): void
  /** Results of jobs that were sent. */
  receive(results: readonly Result[]): void
  /** Forgets all jobs: the thread exited. */
  clear(): void
}

const toJob = ({ command, ...job }: WaitingJob): Job => ({ ...job, command: command.name })

/**
 * Sends jobs to the writer thread, one group at a time: jobs that queue up during a group form the next one and share
 * its commit, so syncs and messages for each write drop under load. Calls do not wait for the end of maintenance: it is
 * awaited then, ends early, and shares its commit with them. `send` throws when a job contains a value that
 * cannot be cloned, and sends none then.
 */
export const createJobGroups = ({
  send,
  onResult,
  now = () => performance.now(),
}: {
  readonly send: (jobs: readonly Job[]) => void
  readonly onResult: (result: Result) => void
  /** ms of a monotonic clock. */
  readonly now?: () => number
}): JobGroups => {
  const queue = createJobQueue(now)
  const gathering = createGathering(now)
  /** Jobs of the current group without a result. */
  let running = 0
  /** Calls among the jobs that were sent, until results arrive: maintenance changes nothing about what is expected. */
  let sentCalls = 0
  let scheduled = false
  let gathers = false

  const start = (jobs: readonly WaitingJob[]): void => {
    send(jobs.map(toJob))
    running += jobs.length
    sentCalls += jobs.filter(({ command }) => !command.isMaintenance).length
  }

  const startEach = (jobs: readonly WaitingJob[]): void => {
    for (const job of jobs) {
      try {
        start([job])
      } catch (thrown) {
        onResult({ number: job.number, ok: false, error: toWire(AppError.from(thrown)) })
      }
    }
    if (running === 0) schedule()
  }

  const flush = (): void => {
    scheduled = false
    // Calls that come during maintenance are sent to share its commit.
    if (sentCalls > 0 || (running > 0 ? queue.calls : queue.size) === 0) return
    // Maintenance runs while no call waits, also between two calls of one caller.
    const wait = queue.calls === 0 ? 0 : gathering.wait(queue.calls)
    if (wait > 0) {
      if (gathers) return
      gathers = true
      setTimeout(() => {
        gathers = false
        flush()
      }, wait)
      return
    }
    const jobs = queue.take()
    try {
      start(jobs)
    } catch {
      startEach(jobs)
    }
  }

  /** The check phase follows all I/O callbacks of a turn: their writes are sent together. */
  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  return {
    push: (job) => {
      queue.push(job)
      schedule()
    },
    receive: (results) => {
      running -= results.length
      const maintenance = results.find((result) => result.ok && result.ms !== undefined)
      if (maintenance?.ok) queue.settled(maintenance.ms)
      if (running === 0) {
        queue.settled()
        if (sentCalls > 0) gathering.completed(sentCalls + queue.calls)
        sentCalls = 0
      }
      schedule()
      for (const result of results) onResult(result)
    },
    clear: () => {
      queue.clear()
      running = 0
      sentCalls = 0
    },
  }
}
