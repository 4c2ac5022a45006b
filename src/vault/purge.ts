import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { TenantPurge } from '../store/purge/types.ts'

interface Purge {
  start(): void
  /** Waits for the current round. */
  stop(): Promise<void>
  /** Runs a round and returns the number of removed rows and ephemeral members. Rejects when the store does. */
  run(): Promise<number>
}

/** Rows of one transaction: few, so that other writers do not wait. */
const BATCH = 500
/** Batches of one round. */
const ROUNDS = 200

/**
 * Removes expired tokens and ephemeral members (a card's cvc) from the store. They cannot be read from their expiry
 * on; the purge deletes the data within about `intervalMs`, and other rows of the store that have expired.
 */
export const createPurge = (
  deps: {
    readonly stores: readonly TenantPurge[]
    readonly clock: Clock
    /** Time of a shared clock: only rows that have expired by both clocks are removed. Default: none. */
    readonly time?: () => Promise<number>
    readonly log: Log
  },
  { intervalMs }: { readonly intervalMs: number },
): Purge => {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<number> | undefined
  let stopping = false

  const round = async (): Promise<number> => {
    const time = (await deps.time?.()) ?? Number.POSITIVE_INFINITY
    const now = Math.min(deps.clock.now(), time)
    let total = 0
    for (let i = 0; i < ROUNDS && !stopping; i++) {
      let removed = 0
      for (const store of deps.stores) removed += await store.purge(now, BATCH)
      total += removed
      if (removed < BATCH) break
    }
    return total
  }
  const run = (): Promise<number> => {
    running ??= round().finally(() => {
      running = undefined
    })
    return running
  }
  const tick = (): void => {
    run().then(
      (removed) => {
        if (removed > 0) deps.log.info({ removed }, 'expired rows removed')
      },
      (err: unknown) => deps.log.error({ err }, 'expired rows could not be removed'),
    )
  }
  return {
    run,
    start: () => {
      stopping = false
      timer ??= setInterval(tick, intervalMs).unref()
    },
    stop: async () => {
      stopping = true
      clearInterval(timer)
      timer = undefined
      await running?.catch(() => undefined)
    },
  }
}
