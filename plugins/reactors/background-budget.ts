import { createShares, weigh } from '#kit'

const MIB = 1024 * 1024

/**
 * Limits of this process: invocations, and bytes of their arguments, which only their end releases. A tenant gets half
 * at most.
 */
interface BackgroundLimits {
  readonly count: number
  readonly bytes: number
}

const LIMITS: BackgroundLimits = { count: 1_000, bytes: 128 * MIB }

/**
 * Takes a place for an invocation of a tenant, and the bytes of its argument. Returns their release. Throws as
 * `Shares.take` does: for the tenant's share, or for all.
 */
type TakeBackground = (tenantId: string, argument: unknown) => () => void

export const createBackgroundBudget = ({ count, bytes }: BackgroundLimits = LIMITS): TakeBackground => {
  const places = createShares(
    count,
    'Too many reactors of this tenant run in the background. Retry after one of them ends.',
  )
  const room = createShares(
    bytes,
    'Background reactors of this tenant hold too many bytes of arguments. Retry after one of them ends, or send less.',
  )
  return (tenantId, argument) => {
    const place = places.take(1, tenantId)
    try {
      const held = room.take(weigh(argument, Number.POSITIVE_INFINITY), tenantId)
      return () => {
        held.release()
        place.release()
      }
    } catch (thrown) {
      place.release()
      throw thrown
    }
  }
}
