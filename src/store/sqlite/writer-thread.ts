import { Worker } from 'node:worker_threads'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { WORKER_ENV } from '../../common/worker-env.ts'
import type { FromWorker, Job, Result, ToWorker, WorkerOptions } from './protocol.ts'

const exited = (cause: unknown) =>
  new AppError(
    'gateway_timeout',
    "The store's writer exited before it confirmed the write, which may have succeeded. Read, then retry.",
    { cause, uncertain: true },
  )

export interface WriterThread {
  /** Throws, and sends none, when a job contains a value that cannot be cloned. */
  send(jobs: readonly Job[]): void
  /** Lets the process exit: no result is awaited. */
  unref(): void
  /** Waits for the end of the thread, if one runs. */
  close(): Promise<void>
}

interface Events {
  readonly onResults: (results: readonly Result[]) => void
  /** The thread exited, expectedly or not: none of its jobs has a result any more. */
  readonly onExit: (error: AppError) => void
}

/**
 * The writer thread: started at once, and again by the next jobs after it exited. Resolves when it has the file open.
 */
export const startWriterThread = async (
  { log, onResults, onExit }: Events & { readonly log: Log },
  workerData: WorkerOptions,
): Promise<WriterThread> => {
  let running: Worker | undefined

  const spawn = (): Worker => {
    const thread = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData,
      name: 'sidevault-store-writer',
      env: WORKER_ENV,
      execArgv: [],
    })
    let failure: unknown
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'results') onResults(message.results)
    })
    thread.on('error', (thrown) => {
      failure = thrown
      log.error({ err: thrown }, "the store's writer thread failed")
    })
    thread.on('exit', () => {
      if (running === thread) running = undefined
      onExit(exited(failure))
    })
    return thread
  }

  const first = spawn()
  running = first
  await new Promise<void>((resolve, reject) => {
    first.once('message', () => resolve())
    first.once('error', reject)
    first.once('exit', () => reject(exited(undefined)))
  })
  first.unref()

  return {
    send: (jobs) => {
      running ??= spawn()
      running.ref()
      running.postMessage({ kind: 'jobs', jobs } satisfies ToWorker)
    },
    unref: () => running?.unref(),
    close: async () => {
      const thread = running
      if (thread === undefined) return
      thread.ref()
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      thread.postMessage({ kind: 'close' } satisfies ToWorker)
      await ended
    },
  }
}
