import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, ErrorReply } from '@redis/client'
import { codeOf } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { whenAborted } from '../../common/when-aborted.ts'
import { TimeoutError, withTimeout } from '../../common/with-timeout.ts'
import { withReplyTimeout } from './reply-timeout.ts'

/** Interval of probes while Redis works, and while it is degraded. */
const PROBE_MS = 1_000
const DEGRADED_PROBE_MS = 250
/** A silent connection is replaced after this time. */
const SILENCE_MS = 3_000
const CONNECT_MS = 2_000
/** A starting process waits this long for Redis. */
const FIRST_MS = 500
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000
/** Commands in flight; reached only by thousands of calls within one timeout. */
const MAX_COMMANDS = 20_000

const newClient = (url: string) =>
  createClient({
    url,
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_COMMANDS,
    maintNotifications: 'disabled',
    disableClientInfo: true,
  })

type RedisClient = ReturnType<typeof newClient>

/** A connection with automatic reconnect. */
interface Connection {
  /** Undefined while Redis is unreachable, slow or rejects commands. */
  readonly client: RedisClient | undefined
  /** Reports a failure or timeout: `client` is undefined until a probe succeeds. */
  degrade(why: unknown): void
  close(): Promise<void>
}

/** Backoff in ms, half of it jitter so that replicas do not synchronize. */
const pauseAfter = (failures: number, chance = Math.random()): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + chance / 2)

/** For the log: the first word of an error reply (`NOAUTH`, `OOM`) or an error code, never more. */
const reasonOf = (why: unknown): string => {
  if (why instanceof ErrorReply) return why.message.split(' ', 1)[0] ?? ''
  if (!(why instanceof Error)) return 'unknown'
  return codeOf(why) || (why instanceof TimeoutError ? 'timeout' : why.name)
}

/**
 * Maintains one connection. Commands are never queued while it is down. Resolves after the first attempt, successful or
 * not, or half a second. `onUp`, `onDown`: Redis works, or is degraded. `probe`: a command that tests it.
 */
export const openConnection = async (
  deps: {
    readonly url: string
    readonly onUp: () => void
    readonly onDown: () => void
    readonly probe: (client: RedisClient) => Promise<unknown>
    readonly log: Log
  },
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<Connection> => {
  const { log, probe } = deps
  const { promise: tried, resolve: hasTried } = Promise.withResolvers<void>()
  let client: RedisClient | undefined
  let works: boolean | undefined
  let closed = false

  const recover = (connected: RedisClient) => {
    client = connected
    if (works === true) return
    works = true
    log.info('Redis recovered: state is shared with other replicas')
    deps.onUp()
  }
  const degrade = (why: unknown) => {
    client = undefined
    if (works === false || closed) return
    works = false
    log.warn({ reason: reasonOf(why) }, 'Redis degraded: rate limits count in this process')
    deps.onDown()
  }

  const beat = async (connected: RedisClient): Promise<void> => {
    const response = probe(connected)
    try {
      await withReplyTimeout(timeoutMs, () => response)
      recover(connected)
    } catch (error) {
      degrade(error)
      await withTimeout(SILENCE_MS, () => response).catch((again: unknown) => {
        if (!(again instanceof ErrorReply)) throw again
      })
    }
  }

  /** Lifetime of one connection; rejects when it ends. `onBeat`: a probe completed. */
  const live = async (over: AbortController, onBeat: () => void): Promise<never> => {
    const { signal } = over
    const connecting = newClient(deps.url).on('error', (error) => over.abort(error))
    const ended = whenAborted(signal)
    // Pending commands are rejected by the client itself.
    ended.catch(() => connecting.destroy())
    try {
      await withTimeout(CONNECT_MS, () => Promise.race([ended, connecting.connect()]))
      for (;;) {
        await beat(connecting)
        onBeat()
        await sleep(client === undefined ? DEGRADED_PROBE_MS : PROBE_MS, undefined, { signal, ref: false })
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      connecting.destroy()
    }
  }

  let attempt = new AbortController()
  const next = (): AbortController => {
    attempt = new AbortController()
    if (closed) attempt.abort()
    return attempt
  }
  const run = async () => {
    for (let failures = 0; !closed; failures++) {
      await live(next(), () => {
        failures = 0
        hasTried()
      }).catch(degrade)
      hasTried()
      await sleep(pauseAfter(failures), undefined, { signal: next().signal, ref: false }).catch(() => {})
    }
  }
  const ran = run()
  await Promise.race([tried, sleep(FIRST_MS, undefined, { ref: false })])
  return {
    get client() {
      return client
    },
    degrade,
    close: async () => {
      closed = true
      client = undefined
      attempt.abort()
      await ran
    },
  }
}
