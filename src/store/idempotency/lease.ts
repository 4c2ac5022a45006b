import { AsyncLocalStorage } from 'node:async_hooks'
import { own } from '../bytes.ts'
import type { IdempotencyLease } from '../lease.ts'
import type { Writer } from '../writer.ts'

/** Work that outlives the call that started it does not run under its lease. */
interface Running {
  lease: IdempotencyLease | undefined
}

const running = new AsyncLocalStorage<Running>()

/**
 * See `IdempotencyStore.runWithLease`. The lease follows the asynchronous context, so operations need not pass it on.
 */
export const runWithLease = async <T>(lease: IdempotencyLease, work: () => Promise<T>): Promise<T> => {
  const here: Running = { lease: { ...lease, key: own(lease.key) } }
  try {
    return await running.run(here, work)
  } finally {
    here.lease = undefined
  }
}

/** Adds the lease of the current call to each of its effects. */
export const withLease = (writer: Writer): Writer => ({
  write: (command, args, bytes, lease) =>
    writer.write(command, args, bytes, lease ?? (command.isEffect ? running.getStore()?.lease : undefined)),
  close: () => writer.close(),
})
