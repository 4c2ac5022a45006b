import { AppError } from '../../common/errors.ts'
import type { WriterLimits } from '../writer.ts'
import { fromWire } from './errors.ts'
import type { Result } from './protocol.ts'

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: AppError) => void
  readonly bytes: number
}

const overloaded = () =>
  new AppError('overloaded', 'Too many writes are waiting for the store. Retry shortly.', { retryAfter: 1 })

/** Writes that were accepted and have no result yet, by number. */
interface PendingWrites {
  /** Accepts a write with its number; its result. Rejects with `overloaded` beyond the limits. */
  accept(bytes: number, send: (number: number) => void): Promise<unknown>
  settle(result: Result): void
  rejectAll(error: AppError): void
  /** Resolves once none is left. */
  settled(): Promise<void>
}

/** `onIdle`: called each time that none is left. */
export const createPendingWrites = (limits: WriterLimits, onIdle: () => void): PendingWrites => {
  const pending = new Map<number, Pending>()
  let bytesPending = 0
  let lastNumber = 0
  const idle = new Set<() => void>()

  const remove = (number: number): Pending | undefined => {
    const write = pending.get(number)
    if (write === undefined) return undefined
    pending.delete(number)
    bytesPending -= write.bytes
    if (pending.size === 0) {
      onIdle()
      for (const resolve of idle) resolve()
      idle.clear()
    }
    return write
  }

  return {
    accept: async (bytes, send) => {
      if (pending.size >= limits.maxQueued || (pending.size > 0 && bytesPending + bytes > limits.maxBytes))
        throw overloaded()
      const number = ++lastNumber
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      pending.set(number, { resolve, reject, bytes })
      bytesPending += bytes
      send(number)
      return promise
    },
    settle: (result) => {
      const write = remove(result.number)
      if (result.ok) write?.resolve(result.value)
      else write?.reject(fromWire(result.error))
    },
    rejectAll: (error) => {
      for (const number of [...pending.keys()]) remove(number)?.reject(error)
    },
    settled: async () => {
      if (pending.size > 0) await new Promise<void>((resolve) => idle.add(resolve))
    },
  }
}
