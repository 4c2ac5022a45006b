import type { Registry } from '@prometheus-io/client'
import type { Clock } from '../../common/clock.ts'
import { newId } from '../../common/ids.ts'
import type { Log } from '../../common/log.ts'
import { createBuckets } from '../in-process.ts'
import type { SharedState } from '../types.ts'
import { openConnection } from './connection.ts'
import { createRedisMetrics } from './metrics.ts'
import { withReplyTimeout } from './reply-timeout.ts'
import { take } from './take.ts'

/** Longest wait of a call for Redis, besides the time in which this process is busy. */
const TIMEOUT_MS = 50
/** Size of the probes' bucket, above their number. */
const PROBES_PER_MINUTE = 1_000_000

export interface RedisStateDeps {
  readonly url: string
  /** Clock of the local buckets. */
  readonly clock: Clock
  readonly registry: Registry
  readonly log: Log
}

interface RedisStateOptions {
  readonly timeoutMs?: number
  /** Clock of the buckets in Redis. Default: the server's, which all replicas share. */
  readonly serverClock?: Clock
}

/**
 * State in a Redis (6 or later, or a compatible server) that all replicas share. While it is degraded, calls are
 * counted in this process.
 */
export const openRedisState = async (
  { url, clock, registry, log }: RedisStateDeps,
  options: RedisStateOptions = {},
): Promise<SharedState> => {
  const { timeoutMs = TIMEOUT_MS, serverClock } = options
  const own = createBuckets({ clock })
  const { up, calls } = createRedisMetrics(registry)
  const me = newId()
  const connection = await openConnection(
    {
      url,
      onUp: () => up.set(1),
      onDown: () => up.set(0),
      probe: (client) => take(client, [{ bucket: `probe ${me}`, perMinute: PROBES_PER_MINUTE }]),
      log,
    },
    { timeoutMs },
  )

  return {
    take: async (claims) => {
      const { client } = connection
      if (client !== undefined)
        try {
          const result = await withReplyTimeout(timeoutMs, () => take(client, claims, serverClock?.now()))
          calls.inc({ backend: 'redis' })
          return result
        } catch (error) {
          connection.degrade(error)
        }
      calls.inc({ backend: 'process' })
      return own.take(claims)
    },
    get backend() {
      return connection.client === undefined ? 'away' : 'shared'
    },
    close: () => connection.close(),
  }
}
