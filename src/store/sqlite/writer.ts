import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { DEFAULT_LIMITS, type Writer, type WriterLimits } from '../writer.ts'
import { createJobGroups } from './job-groups.ts'
import { createPendingWrites } from './pending-writes.ts'
import type { WorkerOptions } from './protocol.ts'
import { startWriterThread, type WriterThread } from './writer-thread.ts'

const closed = () => new AppError('overloaded', 'The store is closed: this process is stopping. Retry.')

/**
 * A writer over the writer thread. A thread that exits fails its pending writes and is started again by the next one.
 */
export const startWriter = async (
  { log }: { readonly log: Log },
  { limits, ...options }: WorkerOptions & { readonly limits?: Partial<WriterLimits> },
): Promise<Writer> => {
  let thread: WriterThread | undefined
  let closing: Promise<void> | undefined
  const pending = createPendingWrites({ ...DEFAULT_LIMITS, ...limits }, () => thread?.unref())
  const groups = createJobGroups({
    send: (jobs) => thread?.send(jobs),
    onResult: (result) => pending.settle(result),
  })
  thread = await startWriterThread(
    {
      log,
      onResults: groups.receive,
      onExit: (error) => {
        groups.clear()
        pending.rejectAll(error)
      },
    },
    options,
  )
  const stop = async (): Promise<void> => {
    await pending.settled()
    await thread?.close()
  }
  return {
    write: async (command, args, bytes = 1_000, lease) => {
      if (closing) throw closed()
      const value = await pending.accept(bytes, (number) => groups.push({ number, command, args, lease }))
      return value as never
    },
    close: () => (closing ??= stop()),
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
