import { AppError } from '../../common/errors.ts'
import type { Batch, Command } from '../command.ts'
import type { Connections } from './pool.ts'
import { transactionSession } from './session.ts'
import { inTransaction } from './transaction.ts'

interface Waiting {
  readonly args: never
  readonly resolve: (result: unknown) => void
  readonly reject: (thrown: unknown) => void
}

/** Calls of one command for one tenant. */
interface Queue {
  readonly command: Command
  readonly batch: Batch<never, unknown>
  waiting: Waiting[]
  /** Batches that are being written. */
  busy: number
}

/** The store is unreachable, or its result is lost: a retry could write twice. */
const isAway = (thrown: unknown): boolean =>
  thrown instanceof AppError && (thrown.code === 'overloaded' || thrown.code === 'gateway_timeout')

interface Deps {
  readonly connections: Connections
  /** Repeats work that met a conflict, within the share of the writer that the call's tenant has. */
  readonly retried: <T>(command: Command, args: never, work: () => Promise<T>) => Promise<T>
  /** Runs one call in its own transaction. */
  readonly alone: (command: Command, args: never) => Promise<unknown>
}

/**
 * Group commit: calls of a tenant that arrive while its `lanes` are busy form the next batch, so round trips and syncs
 * for each call drop under load. A batch that failed without effect is repeated call by call.
 */
export const createBatchQueue = (
  { connections, retried, alone }: Deps,
  { lanes }: { readonly lanes: number },
): (<A extends object, R>(command: Command<A, R>, batch: Batch<A, R>, args: A) => Promise<R>) => {
  const queues = new Map<string, Queue>()
  let scheduled = false

  const write = async ({ command, batch }: Queue, calls: readonly Waiting[]): Promise<void> => {
    const [first, second] = calls
    try {
      const results = await retried(command, first?.args as never, () =>
        connections.use((client) =>
          inTransaction(client, () =>
            batch.run(
              transactionSession(client, command.scope),
              calls.map(({ args }) => args),
            ),
          ),
        ),
      )
      for (const [at, { resolve }] of calls.entries()) resolve(results[at])
    } catch (thrown) {
      for (const { args, resolve, reject } of calls) {
        if (second === undefined || isAway(thrown)) reject(thrown)
        else resolve(alone(command, args))
      }
    }
  }

  const flush = (): void => {
    scheduled = false
    for (const [key, queue] of queues) {
      while (queue.busy < lanes && queue.waiting.length > 0) {
        const size = queue.batch.size(queue.waiting.map(({ args }) => args))
        const calls = queue.waiting.slice(0, size)
        queue.waiting = queue.waiting.slice(size)
        queue.busy++
        void write(queue, calls).finally(() => {
          queue.busy--
          schedule()
        })
      }
      if (queue.busy === 0) queues.delete(key)
    }
  }

  /** The check phase follows all I/O callbacks of a turn: their writes are sent together. */
  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  return (command, batch, args) =>
    new Promise((resolve, reject) => {
      const key = `${command.name} ${command.tenantOf(args) ?? ''}`
      const queue = queues.get(key) ?? {
        command: command as Command,
        batch: batch as Batch<never, unknown>,
        waiting: [],
        busy: 0,
      }
      queues.set(key, queue)
      queue.waiting.push({ args: args as never, resolve: resolve as Waiting['resolve'], reject })
      schedule()
    })
}
