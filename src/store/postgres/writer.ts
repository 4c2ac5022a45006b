import { setTimeout } from 'node:timers/promises'
import { AppError } from '../../common/errors.ts'
import type { Command } from '../command.ts'
import type { IdempotencyLease } from '../lease.ts'
import type { Writer, WriterLimits } from '../writer.ts'
import { createBatchQueue } from './batch-queue.ts'
import { fromPostgres, isContended, isLost } from './errors.ts'
import type { Connections } from './pool.ts'
import { runInTransaction } from './transaction.ts'
import { createWriterShares, shareOf } from './writer-shares.ts'

/** Attempts of a transaction that met a conflict, or lost its connection before the commit. */
const TRIES = 5
/** ms before the second attempt; each further one waits twice as long, ± 50 %. */
const BACKOFF = 5

/** Concurrent batches of a command for one tenant: one writes while another waits for the disk. */
const LANES = 2

const overloaded = () =>
  new AppError('overloaded', 'Too many writes are waiting for the store. Retry shortly.', { retryAfter: 1 })

const closed = () => new AppError('overloaded', 'The store is closed: this process is stopping. Retry.')

const retried = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (thrown) {
      const again = isContended(thrown) || (isLost(thrown) && attempt === 1)
      if (!again || attempt === TRIES) throw fromPostgres(thrown)
      await setTimeout(BACKOFF * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
}

/**
 * Runs each command in its own transaction, or those that have batches together, on any free one of `size` connections,
 * of which each tenant uses a share. The queue is bounded.
 */
export const createPostgresWriter = (
  connections: Connections,
  { size, ...limits }: WriterLimits & { readonly size: number },
): Writer => {
  const inShare = createWriterShares(size)
  let waiting = 0
  let bytesWaiting = 0
  let closing: Promise<void> | undefined
  let idle: (() => void) | undefined

  /** Runs `work` of a call, within the share of its tenant, until it succeeds or must not be repeated. */
  const attempt = <A extends object, R, T>(
    command: Command<A, R>,
    args: A,
    work: () => Promise<T>,
  ): Promise<T> => {
    const tenantId = command.tenantOf(args)
    return retried(() => (tenantId === undefined ? work() : inShare(tenantId, work)))
  }
  const run = <A extends object, R>(command: Command<A, R>, args: A, lease?: IdempotencyLease): Promise<R> =>
    attempt(command, args, () => connections.use((client) => runInTransaction(client, command, args, lease)))
  const runInBatch = createBatchQueue(
    { connections, retried: attempt, alone: run },
    { lanes: Math.min(LANES, shareOf(size)) },
  )

  const write = async <A extends object, R>(
    command: Command<A, R>,
    args: A,
    bytes = 1_000,
    lease?: IdempotencyLease,
  ): Promise<R> => {
    if (closing) throw closed()
    if (waiting >= limits.maxQueued || (waiting > 0 && bytesWaiting + bytes > limits.maxBytes))
      throw overloaded()
    waiting++
    bytesWaiting += bytes
    const { batch } = command
    try {
      return await (batch !== undefined && lease === undefined
        ? runInBatch(command, batch, args)
        : run(command, args, lease))
    } finally {
      waiting--
      bytesWaiting -= bytes
      if (waiting === 0) idle?.()
    }
  }

  const stop = async (): Promise<void> => {
    if (waiting > 0) await new Promise<void>((resolve) => (idle = resolve))
    await connections.close()
  }

  return { write, close: () => (closing ??= stop()) }
}
