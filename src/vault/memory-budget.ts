/** Bytes of opened and of new tokens that all calls of this process hold at once. */
import { createGcPressure } from '../common/gc-pressure.ts'
import type { Share, Shares } from '../common/shares.ts'
import type { UseContext } from '../sdk/index.ts'
import type { VaultDeps } from './vault-deps.ts'

/** Bytes that a tenant without holdings may always take, so that small calls succeed beside large ones. */
const SMALL = 64 * 1024

/**
 * Adds bytes to the call's holdings, until it releases them (`UseContext.hold`). Throws `rate_limited` for more than
 * half of what other tenants leave free: a call of the largest size fits when no other call holds bytes.
 */
export type ReserveMemory = (more: number) => void

export const createMemoryBudget = (
  { held }: Pick<VaultDeps, 'held'>,
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

/** Bytes of garbage for each byte of a token: its text, its value, its mask, the response and its buffers. */
const GARBAGE = 3

/** Shares whose released bytes are collected soon: V8 itself lets several times as much accumulate. */
export const collectReleased = (shares: Shares, collect = createGcPressure()): Shares => ({
  take: (amount, ...owner) => new CollectedShare(shares.take(amount, ...owner), amount, collect),
  get held() {
    return shares.held
  },
})

class CollectedShare implements Share {
  readonly #share: Share
  readonly #collect: (bytes: number) => void
  #bytes: number

  constructor(share: Share, bytes: number, collect: (bytes: number) => void) {
    this.#share = share
    this.#bytes = bytes
    this.#collect = collect
  }

  resize(next: number): void {
    this.#share.resize(next)
    this.#bytes = next
  }

  release(): void {
    this.#share.release()
    this.#collect(GARBAGE * this.#bytes)
    this.#bytes = 0
  }
}

/** Runs `work` and releases what it held, for callers without `hold`. */
export const withMemoryBudget = <T>(
  context: UseContext,
  work: (context: UseContext) => Promise<T>,
): Promise<T> => (context.hold === undefined ? withOwnBudget(context, work) : work(context))

const withOwnBudget = async <T>(
  context: UseContext,
  work: (context: UseContext) => Promise<T>,
): Promise<T> => {
  const all: { release(): void }[] = []
  try {
    return await work({ ...context, hold: (held) => all.push(held) })
  } finally {
    for (const held of all) held.release()
  }
}
