import { AppError } from '../../common/errors.ts'
import type { RunExclusive } from '../../common/keyed-mutex.ts'
import type { Commands } from '../write-commands.ts'
import { createBatch, takeBatch } from './create-batch.ts'
import type { Connections } from './pool.ts'
import { transactionSession } from './session.ts'
import { inTransaction } from './transaction.ts'

type Create = Commands['tokens.create']

interface Waiting {
  readonly args: Create['args']
  readonly resolve: (result: Create['result'] | Promise<Create['result']>) => void
  readonly reject: (thrown: unknown) => void
}

/** The store is unreachable, or its result is lost: a retry could write twice. */
const isAway = (thrown: unknown): boolean =>
  thrown instanceof AppError && (thrown.code === 'overloaded' || thrown.code === 'gateway_timeout')

/** Tokens in one transaction: the first call of a batch waits for the last. */
const MAX_TOKENS = 1_000

/**
 * Group commit of new tokens: calls of a tenant that arrive while its `lanes` are busy form the next batch, so round trips
 * and syncs for each token drop under load. `alone` runs one call by its own command; a batch that failed without effect
 * is repeated call by call.
 */
export const createTokenQueue = (
  {
    connections,
    retried,
    inShare,
  }: {
    readonly connections: Connections
    readonly retried: <T>(work: () => Promise<T>) => Promise<T>
    readonly inShare: RunExclusive
  },
  {
    lanes,
    alone,
  }: { readonly lanes: number; readonly alone: (args: Create['args']) => Promise<Create['result']> },
): ((args: Create['args']) => Promise<Create['result']>) => {
  /** Calls of each tenant, and how many of its batches are being written. */
  const queues = new Map<string, { waiting: Waiting[]; busy: number }>()
  let scheduled = false

  const write = async (tenantId: string, batch: readonly Waiting[]): Promise<void> => {
    try {
      const results = await retried(() =>
        inShare(tenantId, () =>
          connections.use((client) =>
            inTransaction(client, () => {
              const session = transactionSession(client, { serviceWide: false })
              const calls = batch.map(({ args }) => args)
              return createBatch(client, session, calls)
            }),
          ),
        ),
      )
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] ?? [])
    } catch (thrown) {
      for (const { args, resolve, reject } of batch) {
        if (isAway(thrown)) reject(thrown)
        else resolve(alone(args))
      }
    }
  }

  const flush = (): void => {
    scheduled = false
    for (const [tenantId, queue] of queues) {
      while (queue.busy < lanes && queue.waiting.length > 0) {
        const batch = takeBatch(queue.waiting, MAX_TOKENS)
        const [first] = queue.waiting
        queue.waiting = queue.waiting.slice(Math.max(batch.length, 1))
        if (batch.length === 0 && first !== undefined) {
          first.resolve(alone(first.args))
          continue
        }
        queue.busy++
        void write(tenantId, batch).finally(() => {
          queue.busy--
          schedule()
        })
      }
      if (queue.busy === 0) queues.delete(tenantId)
    }
  }

  /** The check phase follows all I/O callbacks of a turn: their writes are sent together. */
  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  return (args) =>
    new Promise((resolve, reject) => {
      const tenantId = args.tokens[0]?.tenant_id ?? ''
      const queue = queues.get(tenantId) ?? { waiting: [], busy: 0 }
      queues.set(tenantId, queue)
      queue.waiting.push({ args, resolve, reject })
      schedule()
    })
}
