import { setTimeout } from 'node:timers/promises'
import { AppError } from '../../common/errors.ts'
import type { IdempotencyLease } from '../lease.ts'
import type { CommandName, Commands } from '../write-commands.ts'
import type { Writer, WriterLimits } from '../writer.ts'
import { createTokenQueue } from './create-queue.ts'
import { fromPostgres, isContended, isLost } from './errors.ts'
import type { Connections } from './pool.ts'
import { runInTransaction } from './transaction.ts'
import { createWriterShares, shareOf, tenantOf } from './writer-shares.ts'

/** Attempts of a transaction that met a conflict, or lost its connection before the commit. */
const TRIES = 5
/** ms before the second attempt; each further one waits twice as long, ± 50 %. */
const BACKOFF = 5

/** Concurrent batches of one tenant's creates: one writes while another waits for the disk. */
const LANES = 2

const overloaded = () =>
  new AppError('overloaded', 'Too many writes are waiting for the store. Retry shortly.', { retryAfter: 1 })

const closed = () => new AppError('gateway_timeout', 'The store is closed: this process is stopping. Retry.')

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
 * Runs each command except creates in its own transaction, on any free one of `size` connections, of which each tenant
 * uses a share. The queue is bounded.
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

  const run = (command: CommandName, args: unknown, lease?: IdempotencyLease): Promise<unknown> => {
    const tenantId = tenantOf(command, args)
    const once = () => connections.use((client) => runInTransaction(client, command, args, lease))
    return retried(() => (tenantId === undefined ? once() : inShare(tenantId, once)))
  }
  const create = createTokenQueue(
    { connections, retried, inShare },
    {
      lanes: Math.min(LANES, shareOf(size)),
      alone: (args) => run('tokens.create', args) as Promise<Commands['tokens.create']['result']>,
    },
  )

  const write = async (
    command: CommandName,
    args: unknown,
    bytes = 1_000,
    lease?: IdempotencyLease,
  ): Promise<unknown> => {
    if (closing) throw closed()
    if (waiting >= limits.maxQueued || (waiting > 0 && bytesWaiting + bytes > limits.maxBytes))
      throw overloaded()
    waiting++
    bytesWaiting += bytes
    try {
      return await (command === 'tokens.create' && lease === undefined
        ? create(args as Commands['tokens.create']['args'])
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

  return { write: write as Writer['write'], close: () => (closing ??= stop()) }
}
