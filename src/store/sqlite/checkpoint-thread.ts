import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { WORKER_ENV } from '../../common/worker-env.ts'
import type { Connection } from './connection.ts'
import type { WorkerOptions } from './protocol.ts'

/** Rows written from one checkpoint to the next: some hundreds of pages. */
const ROWS = 500

interface BackgroundCheckpoints {
  /** Starts a checkpoint when enough was written since the last one. Called after each commit. */
  committed(): void
  /** Resolves once the thread, if one runs, has closed the file. */
  close(): Promise<void>
}

/**
 * Checkpoints on a thread of their own, next to the commits of the writer. Its own checkpoint blocked it for 30 ms and
 * more, once every 4,000 pages; it has only the pages of the last commits left. Without the thread, it has all of them.
 */
export const createBackgroundCheckpoints = (
  db: Connection,
  workerData: WorkerOptions,
): BackgroundCheckpoints => {
  const changes = db.prepare('select total_changes()').pluck()
  let thread: Worker | undefined
  let isRunning = false
  let hasFailed = false
  let last = 0

  const start = (): Worker => {
    const started = new Worker(new URL('./background-checkpoint.ts', import.meta.url), {
      workerData,
      name: 'sidevault-store-checkpoint',
      env: WORKER_ENV,
      execArgv: [],
    })
    started.on('message', () => {
      isRunning = false
    })
    started.on('error', () => {
      hasFailed = true
    })
    started.on('exit', () => {
      thread = undefined
    })
    started.unref()
    return started
  }

  return {
    committed: () => {
      if (isRunning || hasFailed) return
      const rows = Number(changes.get())
      if (rows - last < ROWS) return
      last = rows
      isRunning = true
      thread ??= start()
      thread.postMessage('checkpoint')
    },
    close: async () => {
      if (thread === undefined) return
      const exited = once(thread, 'exit')
      thread.ref()
      thread.postMessage('close')
      await exited.catch(() => {})
    },
  }
}
