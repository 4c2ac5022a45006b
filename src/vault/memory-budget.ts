/** Bytes of tokens that all calls of this process hold open at once. */
import type { UseContext } from '../sdk/index.ts'
import type { VaultParts } from './vault-deps.ts'

/** What a tenant that holds nothing may take without regard to others, so that small calls go on beside large ones. */
const SMALL = 64 * 1024

/**
 * Counts more bytes for the call, until it gives them back (`UseContext.hold`). Throws `rate_limited` for more than half
 * of what other tenants leave, which one call of the largest size fits in when nobody else holds anything.
 */
export type ReserveMemory = (more: number) => void

export const createMemoryBudget = (
  { held }: Pick<VaultParts, 'held'>,
  { caller, hold }: Pick<UseContext, 'caller' | 'hold'>,
): ReserveMemory => {
  let share: ReturnType<typeof held.take> | undefined
  let bytes = 0
  return (more) => {
    if (more <= 0) return
    if (share === undefined) {
      const first = held.take(Math.min(more, SMALL), caller.tenantId)
      try {
        first.resize(more)
      } catch (error) {
        first.release()
        throw error
      }
      share = first
      hold?.(share)
    } else share.resize(bytes + more)
    bytes += more
  }
}

/** `work` with a context that keeps what is held until then, for callers that do not say for how long. */
export const withMemoryBudget = async <T>(
  context: UseContext,
  work: (context: UseContext) => Promise<T>,
): Promise<T> => {
  if (context.hold !== undefined) return work(context)
  const all: { release(): void }[] = []
  try {
    return await work({ ...context, hold: (held) => all.push(held) })
  } finally {
    for (const held of all) held.release()
  }
}
