import { Worker } from 'node:worker_threads'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { WORKER_ENV } from '../../common/worker-env.ts'
import type { Command } from '../command.ts'
import type { IdempotencyLease } from '../lease.ts'
import type { Writer } from '../writer.ts'
import { DEFAULT_LIMITS, type WriterLimits } from '../writer.ts'
import { fromWire } from './errors.ts'
import type { FromWorker, Job, ToWorker, WorkerOptions } from './protocol.ts'
import { createJobQueue, type WaitingJob } from './queue.ts'

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: AppError) => void
  readonly bytes: number
}

/**
 * Maximum ms after a group that the next one waits for as many calls as the group had. A group costs several times as
 * much as one more write in it, and callers usually write again: through Envoy within some milliseconds. Single or later
 * writes do not wait.
 */
const GATHER = 4

const overloaded = () =>
  new AppError('overloaded', 'Too many writes are waiting for the store. Retry shortly.', { retryAfter: 1 })

const closed = () => new AppError('gateway_timeout', 'The store is closed: this process is stopping. Retry.')

const exited = (cause: unknown) =>
  new AppError(
    'gateway_timeout',
    "The store's writer exited before it confirmed the write, which may have succeeded. Read, then retry.",
    { cause, uncertain: true },
  )

/**
 * Sends commands to the writer thread, one group at a time: jobs that queue up during a group form the next one and share
 * its commit, so syncs and messages for each write drop under load. A thread that exits fails its pending jobs and is
 * started again by the next write.
 */
export const startWriter = async (
  { log }: { readonly log: Log },
  options: WorkerOptions & { readonly limits?: Partial<WriterLimits> },
): Promise<Writer> => {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const pending = new Map<number, Pending>()
  const queue = createJobQueue(() => performance.now())
  /** Jobs sent to the thread. */
  let sent = 0
  let scheduled = false
  /** Calls in progress when the last group completed. */
  let inProgress = 0
  let settledAt = 0
  let gathering = false
  let bytesPending = 0
  let lastNumber = 0
  let worker: Worker | undefined
  let closing: Promise<void> | undefined
  let idle: (() => void) | undefined

  const settle = (number: number): Pending | undefined => {
    const job = pending.get(number)
    if (!job) return undefined
    pending.delete(number)
    bytesPending -= job.bytes
    if (pending.size === 0) {
      worker?.unref()
      idle?.()
    }
    return job
  }

  const receive = (message: FromWorker): void => {
    if (message.kind !== 'results') return
    sent -= message.results.length
    if (sent === 0) queue.settled()
    inProgress = message.results.length + queue.calls
    settledAt = performance.now()
    schedule()
    for (const result of message.results) {
      const job = settle(result.number)
      if (result.ok) job?.resolve(result.value)
      else job?.reject(fromWire(result.error))
    }
  }

  const spawn = (): Worker => {
    const workerData: WorkerOptions = { path: options.path }
    const thread = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData,
      name: 'sidevault-store-writer',
      env: WORKER_ENV,
      execArgv: [],
    })
    let failure: unknown
    thread.on('message', receive)
    thread.on('error', (thrown) => {
      failure = thrown
      log.error({ err: thrown }, "the store's writer thread failed")
    })
    thread.on('exit', () => {
      if (worker === thread) worker = undefined
      const error = exited(failure)
      for (const number of [...pending.keys()]) settle(number)?.reject(error)
      queue.clear()
      sent = 0
    })
    return thread
  }

  const post = (thread: Worker, waiting: readonly WaitingJob[]): void => {
    const jobs = waiting.map((job): Job => ({ ...job, command: job.command.name }))
    thread.postMessage({ kind: 'jobs', jobs } satisfies ToWorker)
    sent += jobs.length
  }

  const flush = (): void => {
    scheduled = false
    if (sent > 0 || queue.size === 0) return
    const timeout = settledAt + GATHER - performance.now()
    if (queue.calls < inProgress && timeout > 0) {
      if (gathering) return
      gathering = true
      setTimeout(() => {
        gathering = false
        flush()
      }, timeout)
      return
    }
    const jobs = queue.take()
    worker ??= spawn()
    const thread = worker
    thread.ref()
    try {
      post(thread, jobs)
    } catch {
      // One of them contains a value that cannot be cloned; send the others one by one.
      for (const job of jobs) {
        try {
          post(thread, [job])
        } catch (thrown) {
          settle(job.number)?.reject(AppError.from(thrown))
        }
      }
      if (sent === 0) schedule()
    }
  }

  /** The check phase follows all I/O callbacks of a turn: their writes are sent together. */
  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  const write = (
    command: Command,
    args: unknown,
    bytes = 1_000,
    lease?: IdempotencyLease,
  ): Promise<unknown> => {
    if (closing) return Promise.reject(closed())
    if (pending.size >= limits.maxQueued || (pending.size > 0 && bytesPending + bytes > limits.maxBytes))
      return Promise.reject(overloaded())
    const number = ++lastNumber
    return new Promise((resolve, reject) => {
      pending.set(number, { resolve, reject, bytes })
      bytesPending += bytes
      queue.push({ number, command, args, lease })
      schedule()
    })
  }

  const stop = async (): Promise<void> => {
    if (pending.size > 0) await new Promise<void>((resolve) => (idle = resolve))
    const thread = worker
    if (!thread) return
    thread.ref()
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage({ kind: 'close' } satisfies ToWorker)
    await ended
  }

  const first = spawn()
  worker = first
  await new Promise<void>((resolve, reject) => {
    first.once('message', () => resolve())
    first.once('error', reject)
    first.once('exit', () => reject(exited(undefined)))
  })
  first.unref()

  return {
    write: write as Writer['write'],
    close: () => {
      closing ??= stop()
      return closing
    },
  }
}

/** A writer that starts at the first write, for processes that rarely write. */
export const onFirstWrite = (start: () => Promise<Writer>): Writer => {
  let started: Promise<Writer> | undefined
  const writer = (): Promise<Writer> => {
    started ??= start().catch((thrown) => {
      started = undefined
      throw thrown
    })
    return started
  }
  return {
    write: (async (...args: Parameters<Writer['write']>) =>
      (await writer()).write(...args)) as Writer['write'],
    close: async () => (await started?.catch(() => undefined))?.close(),
  }
}
