import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { WORKER_ENV } from '../../common/worker-env.ts'
import type { Connection } from './connection.ts'
import type { WorkerOptions } from './protocol.ts'

/** Rows written from one checkpoint to the next: some thousands of frames of the log. */
const ROWS = 2_000
/** Frames that the writer copies itself: 2 ms. */
const FEW = 250

interface BackgroundCheckpoints {
  /** Starts a checkpoint when enough was written since the last one. Called after each commit. */
  committed(): void
  /** Resolves once the thread, if one runs, has closed the file. */
  close(): Promise<void>
}

/**
 * Checkpoints on a thread of their own, next to the commits of the writer, until few frames are left. Those the writer
 * copies between two groups, so that its next one starts the log from its beginning. SQLite's own checkpoint blocked it
 * for 30 ms and more; it remains as a bound, when the thread fails or falls behind.
 */
export const createBackgroundCheckpoints = (
  db: Connection,
  workerData: WorkerOptions,
): BackgroundCheckpoints => {
  const totalChanges = db.prepare('select total_changes()').pluck()
  const written = () => Number(totalChanges.get())
  let thread: Worker | undefined
  let isRunning = false
  let hasFailed = false
  /** Rows written until the last checkpoint. */
  let last = 0
  /** Frames that are copied. */
  let copied = 0

  const checkpoint = (): void => {
    last = written()
    isRunning = true
    thread ??= start()
    thread.postMessage('checkpoint')
  }

  const finish = (): void => {
    try {
      db.pragma('wal_checkpoint(PASSIVE)')
    } catch {
      // Left to the next checkpoint.
    }
    copied = 0
    last = written()
  }

  const start = (): Worker => {
    const started = new Worker(new URL('./background-checkpoint.ts', import.meta.url), {
      workerData,
      name: 'sidevault-store-checkpoint',
      env: WORKER_ENV,
      execArgv: [],
    })
    started.on('message', (frames: number) => {
      isRunning = false
      const fresh = frames < copied ? frames : frames - copied
      copied = frames
      // The next one copies what was written during this one.
      if (fresh > FEW) checkpoint()
      else finish()
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
      if (!isRunning && !hasFailed && written() - last >= ROWS) checkpoint()
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
