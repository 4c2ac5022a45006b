import type { Registry } from 'prom-client'
import type { Clock } from '../../common/clock.ts'
import { newId } from '../../common/ids.ts'
import type { Log } from '../../common/log.ts'
import { withTimeout } from '../../common/with-timeout.ts'
import { createBuckets } from '../in-process.ts'
import type { SharedState } from '../types.ts'
import { openConnection } from './connection.ts'
import { createRedisMetrics } from './metrics.ts'
import { createPaced } from './paced.ts'
import { take } from './take.ts'

/** What a call waits for Redis at most. */
const TIMEOUT_MS = 50
/** Between two words to the others, and between two looks on their word. */
const PACE_MS = 20
/** What a look takes a call from: more of them than there will be looks. */
const LOOKS_PER_MINUTE = 1_000_000

export interface RedisStateDeps {
  readonly url: string
  /** Stands for one vault: those that share a Redis do not hear each other. */
  readonly vault: string
  /** Counts while Redis is away. */
  readonly clock: Clock
  readonly registry: Registry
  readonly log: Log
}

export interface RedisStateOptions {
  readonly timeoutMs?: number
  /** What counts in Redis too; default the clock of the server, which all replicas share. */
  readonly serverClock?: Clock
}

/**
 * State in a Redis (6 or later, or what speaks its protocol) that all replicas use. While it is away, late or refuses,
 * calls are counted in this process, and words to the others are dropped.
 */
export const openRedisState = async (
  { url, vault, clock, registry, log }: RedisStateDeps,
  options: RedisStateOptions = {},
): Promise<SharedState> => {
  const { timeoutMs = TIMEOUT_MS, serverClock } = options
  const own = createBuckets({ clock })
  const { up, calls } = createRedisMetrics(registry)
  const me = newId()
  const channel = `sidevault:changes:${vault}`
  const listeners: (() => void)[] = []
  const notifyListeners = createPaced(PACE_MS, async () => {
    for (const look of listeners) look()
  })

  const connection = await openConnection(
    {
      url,
      channel,
      onMessage: (sender) => {
        if (sender !== me) notifyListeners()
      },
      onTrust: () => {
        up.set(1)
        notifyListeners() // whatever was said meanwhile was not heard
      },
      onDoubt: () => up.set(0),
      look: (client) => take(client, [{ bucket: `look ${me}`, perMinute: LOOKS_PER_MINUTE }]),
      log,
    },
    { timeoutMs },
  )
  const announce = createPaced(PACE_MS, async () => {
    const { client } = connection
    if (client === undefined) return
    await withTimeout(timeoutMs, () => client.publish(channel, me)).catch(connection.doubt)
  })

  return {
    take: async (claims) => {
      const { client } = connection
      if (client !== undefined)
        try {
          const wait = await withTimeout(timeoutMs, () => take(client, claims, serverClock?.now()))
          calls.inc({ counted: 'shared' })
          return wait
        } catch (error) {
          connection.doubt(error)
        }
      calls.inc({ counted: 'own' })
      return own.take(claims)
    },
    announce,
    listen: (look) => void listeners.push(look),
    get reach() {
      return connection.client === undefined ? 'away' : 'shared'
    },
    close: () => connection.close(),
  }
}
