import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, ErrorReply } from '@redis/client'
import { codeOf } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { TimeoutError, withTimeout } from '../../common/with-timeout.ts'

/** Between two looks at whether Redis does its work, and while it does not. */
const BEAT_MS = 1_000
const DOUBT_BEAT_MS = 250
/** A connection that says nothing for so long is given up for a new one. */
const SILENCE_MS = 3_000
const CONNECT_MS = 2_000
/** A process that starts waits so long for Redis to be there. */
const FIRST_MS = 500
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000
/** Commands that may be on their way; reached only when thousands of calls come within one patience. */
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

export type RedisClient = ReturnType<typeof newClient>

/** A connection that is kept, or tried for again and again. */
export interface Connection {
  /** Undefined while Redis is away, late, or refuses: then it is not to be waited for. */
  readonly client: RedisClient | undefined
  /** Something failed or was late: nobody is to wait for Redis until a look says that it does its work again. */
  doubt(why: unknown): void
  close(): Promise<void>
}

/** Milliseconds before the next attempt after so many failures, half of them by chance, lest replicas come in step. */
const pauseAfter = (failures: number, chance = Math.random()): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + chance / 2)

/** For the log: the first word of what Redis said (`NOAUTH`, `OOM`), or the code of what failed. Never more. */
const reasonOf = (why: unknown): string => {
  if (why instanceof ErrorReply) return why.message.split(' ', 1)[0] ?? ''
  if (!(why instanceof Error)) return 'unknown'
  return codeOf(why) || (why instanceof TimeoutError ? 'late' : why.name)
}

/**
 * Keeps one connection with one subscription. There is no queue for the time without connection: a command is sent now
 * or not at all. Resolves after the first attempt, whatever became of it, or half a second. `onMessage`: what the channel says. `onTrust`:
 * Redis does its work, at first or again. `look`: a piece of work that tells whether it does.
 */
export const openConnection = async (
  deps: {
    readonly url: string
    readonly channel: string
    readonly onMessage: (message: string) => void
    readonly onTrust: () => void
    readonly onDoubt: () => void
    readonly look: (client: RedisClient) => Promise<unknown>
    readonly log: Log
  },
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<Connection> => {
  const { log, look } = deps
  const { promise: tried, resolve: hasTried } = Promise.withResolvers<void>()
  let client: RedisClient | undefined
  let trusted: boolean | undefined
  let closed = false

  const trust = (one: RedisClient) => {
    client = one
    if (trusted === true) return
    trusted = true
    log.info('Redis answers: state is shared with other replicas')
    deps.onTrust()
  }
  const doubt = (why: unknown) => {
    client = undefined
    if (trusted === false || closed) return
    trusted = false
    log.warn(
      { reason: reasonOf(why) },
      'Redis does not do its work: until it does, this process counts by itself',
    )
    deps.onDoubt()
  }

  const beat = async (one: RedisClient): Promise<void> => {
    const response = look(one)
    try {
      await withTimeout(timeoutMs, () => response)
      trust(one)
    } catch (error) {
      doubt(error)
      await withTimeout(SILENCE_MS, () => response).catch((again: unknown) => {
        if (!(again instanceof ErrorReply)) throw again
      })
    }
  }

  /** One connection from its beginning to its end, which is a rejection. `onBeat`: it has answered. */
  const live = async (over: AbortController, onBeat: () => void): Promise<never> => {
    const { signal } = over
    const one = newClient(deps.url).on('error', (error) => over.abort(error))
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    // What waits for an answer later is told so by the client itself.
    ended.catch(() => one.destroy())
    try {
      await withTimeout(CONNECT_MS, () => Promise.race([ended, one.connect()]))
      await withTimeout(CONNECT_MS, () => Promise.race([ended, one.subscribe(deps.channel, deps.onMessage)]))
      for (;;) {
        await beat(one)
        onBeat()
        await sleep(client === undefined ? DOUBT_BEAT_MS : BEAT_MS, undefined, { signal, ref: false })
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      one.destroy()
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
      }).catch(doubt)
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
    doubt,
    close: async () => {
      closed = true
      client = undefined
      attempt.abort()
      await ran
    },
  }
}
