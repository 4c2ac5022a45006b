import { AppError } from '#sdk'

const MIB = 1024 * 1024

/** Limits of this process and of one tenant: invocations, and bytes of their arguments, which only their end releases. */
interface BackgroundLimits {
  readonly count: number
  readonly countOfTenant: number
  readonly bytes: number
  readonly bytesOfTenant: number
}

const LIMITS: BackgroundLimits = {
  count: 1_000,
  countOfTenant: 100,
  bytes: 256 * MIB,
  bytesOfTenant: 64 * MIB,
}

/** Bytes of a value of JSON besides its characters, and of a member. */
const VALUE = 16

export const overloaded = (): AppError =>
  new AppError('overloaded', 'Too many reactors run in the background. Try again shortly.', { retryAfter: 5 })

/** Approximate bytes of a JSON value in memory. */
const sizeOf = (value: unknown): number => {
  let bytes = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const item = open.pop()
    bytes += VALUE
    if (typeof item === 'string') bytes += item.length
    else if (Array.isArray(item)) for (const inner of item) open.push(inner)
    else if (typeof item === 'object' && item !== null)
      for (const [name, member] of Object.entries(item)) {
        bytes += name.length
        open.push(member)
      }
  }
  return bytes
}

interface BackgroundBudget {
  /**
   * Takes a place for an invocation, and the bytes of its argument. Returns their release. Throws `overloaded` when there
   * is no place, `rate_limited` beyond the bytes of the tenant.
   */
  take(tenantId: string, argument: unknown): () => void
}

export const createBackgroundBudget = (limits: BackgroundLimits = LIMITS): BackgroundBudget => {
  const ofTenants = new Map<string, { count: number; bytes: number }>()
  const all = { count: 0, bytes: 0 }
  return {
    take(tenantId, argument) {
      const own = ofTenants.get(tenantId) ?? { count: 0, bytes: 0 }
      if (all.count >= limits.count || own.count >= limits.countOfTenant) throw overloaded()
      const bytes = sizeOf(argument)
      if (own.bytes + bytes > limits.bytesOfTenant)
        throw new AppError(
          'rate_limited',
          `Background reactors of this tenant hold more than ${limits.bytesOfTenant / MIB} MiB of arguments. Retry after one of them ends, or send less.`,
          { retryAfter: 5 },
        )
      if (all.bytes + bytes > limits.bytes) throw overloaded()
      const add = (count: number, more: number) => {
        for (const one of [own, all]) {
          one.count += count
          one.bytes += more
        }
        if (own.count > 0) ofTenants.set(tenantId, own)
        else ofTenants.delete(tenantId)
      }
      add(1, bytes)
      return () => add(-1, -bytes)
    },
  }
}
