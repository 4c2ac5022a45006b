import { LRUCache } from 'lru-cache'
import type { Log } from '../../common/log.ts'
import { createFrameReader, encodeFrame } from '../frames.ts'
import { CHILD_RSS_MIB, PREPARED_MS, SILENCE_MS, USUAL_ISOLATES } from '../limits.ts'
import type { ToChild } from '../protocol.ts'
import { asFromChild, type FromChild } from './from-child.ts'
import type { Channel, Job, Source } from './job.ts'
import { rssOf } from './rss.ts'
import type { Spawned } from './spawn.ts'

const MIB = 2 ** 20
/** Start timeout of a child, in ms. */
const START_MS = 20_000
/** Milliseconds without a message until a ping, and the timeout of its pong. */
const PING_AFTER_MS = 1_000
const PONG_MS = 3_000

/** `replaced`: it was idle, and another tenant needs its place. */
export type ExitReason = 'unresponsive' | 'memory' | 'crash' | 'closed' | 'replaced'

/** Program that a child ran, and its invocation (0: none). */
export interface Entered {
  readonly id: number
  readonly key: string
  /** Inferred: the invocation was sent quietly and may not have started. */
  readonly assumed?: boolean
}

/** Program that a child ran when it ended. */
export interface LastEntered extends Entered {
  readonly tenantId: string
  /** The child also had programs of other tenants, of which it may hold memory. */
  readonly isShared: boolean
}

interface Deps {
  readonly log: Log
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  readonly maxBytes: number
  readonly onReady: () => void
  /** The child runs no code now. */
  readonly onFree: () => void
  /** The child does not have the program of an invocation. */
  readonly onUnknown: (job: Job) => void
  readonly onLost: (job: Job) => void
  /** A program ran for `ms`. */
  readonly onSpent: (source: Pick<Source, 'tenantId' | 'key'>, ms: number) => void
  readonly onGone: (why: ExitReason, entered: LastEntered | undefined, jobs: readonly Job[]) => void
}

/** One child process and the jobs in it. */
export interface Child {
  readonly pid: number
  readonly ready: boolean
  /** Runs code, or will immediately. */
  readonly busy: boolean
  /** Start of the current entry, on the pool's clock. */
  readonly since: number | undefined
  /** Program whose next context it prepares, while it does nothing else. */
  readonly preparing: string | undefined
  readonly jobs: ReadonlyMap<number, Job>
  /** Tenant of its first invocation. */
  readonly tenantId: string | undefined
  /** Whether it should have the program's isolate; and how many isolates it should have. */
  knows(key: string): boolean
  readonly programs: number
  /** Sends a job. `trusted`: the child need not report its start. */
  give(job: Job, trusted: boolean): void
  /** Kills it when it does not respond or exceeds its memory. */
  watch(): void
  kill(why: ExitReason): void
}

export const createChild = ({ process, stream }: Spawned, deps: Deps): Child => {
  const pid = process.pid ?? 0
  const jobs = new Map<number, Job>()
  /** Tenants by recent program. */
  const known = new LRUCache<string, string>({ max: USUAL_ISOLATES })
  /** Jobs that have not started; and the one whose start is not reported. */
  const given = new Set<number>()
  let quiet: { readonly id: number; readonly key: string; readonly budgetMs: number } | undefined
  let owner: string | undefined
  let ready = false
  let why: ExitReason = 'crash'
  let killed = false
  let gone = false
  let entered: (Entered & { readonly at: number; readonly until: number }) | undefined
  let heardAt = deps.now()
  let pingedAt: number | undefined
  const spawnedAt = deps.now()

  const send = (message: ToChild, body?: string) => {
    if (!gone && stream.writable) stream.write(encodeFrame(message, body))
  }

  const channel: Channel = {
    send,
    get closed() {
      return gone
    },
  }

  const kill = (reason: ExitReason) => {
    if (gone || killed) return
    why = reason
    killed = true
    ready = false
    process.kill('SIGKILL')
  }

  const charge = () => {
    if (entered === undefined) return
    const tenantId = known.peek(entered.key)
    if (tenantId !== undefined) deps.onSpent({ tenantId, key: entered.key }, deps.now() - entered.at)
  }

  /** Assumes that the quiet job starts when the child is idle, or prepares a context of the same program. */
  const assume = () => {
    if (quiet === undefined) return
    const { id, key, budgetMs } = quiet
    const now = deps.now()
    if (entered === undefined) entered = { id, key, assumed: true, at: now, until: now + budgetMs }
    else if (entered.id === 0 && entered.key === key) {
      const { at, until } = entered
      const latest = Math.max(now, at + PREPARED_MS) + budgetMs
      entered = { id, key, assumed: true, at, until: Math.max(until, latest) }
    }
  }

  const enter = (id: number, key: string, budgetMs: number) => {
    charge()
    const at = deps.now()
    entered = { id, key, at, until: at + budgetMs }
  }

  const left = (id: number) => {
    charge()
    entered = undefined
    given.delete(id)
    if (quiet?.id === id) quiet = undefined
  }

  const forget = (id: number): Job | undefined => {
    const job = jobs.get(id)
    left(id)
    jobs.delete(id)
    return job
  }

  const receive = (message: FromChild, body: string) => {
    if (message.kind === 'pong') return
    if (message.kind === 'ready') {
      ready = true
      deps.onReady()
    } else if (message.kind === 'entering') {
      enter(message.id, message.key, message.budgetMs)
      return
    } else if (message.kind === 'call') {
      jobs.get(message.id)?.onCall(message, body)
      return
    } else if (message.kind === 'left') left(message.id)
    else if (message.kind === 'ended') {
      const job = forget(message.id)
      if (job !== undefined && message.preparingMs > 0) enter(0, job.source.key, message.preparingMs)
      job?.onEnded(message, body)
    } else if (message.kind === 'checked')
      forget(message.id)?.onChecked(message.issues, message.exportsFunction)
    else {
      const job = forget(message.id)
      if (message.kind === 'unknown' && job !== undefined) {
        known.delete(job.source.key)
        deps.onUnknown(job)
      } else if (job !== undefined) deps.onLost(job)
    }
    assume()
    deps.onFree()
  }

  const read = createFrameReader(deps.maxBytes, ({ header, body }) => {
    const message = asFromChild(header)
    if (message === undefined) throw new Error('A message does not match the protocol.')
    receive(message, body)
  })

  /** Undefined also for a program that the child was never given. */
  const lastEntered = (): LastEntered | undefined => {
    if (entered === undefined) return undefined
    const tenantId = jobs.get(entered.id)?.source.tenantId ?? known.peek(entered.key)
    if (tenantId === undefined) return undefined
    return { ...entered, tenantId, isShared: [...known.values()].some((other) => other !== tenantId) }
  }

  const end = () => {
    if (gone) return
    gone = true
    ready = false
    stream.destroy()
    charge()
    deps.onGone(why, lastEntered(), [...jobs.values()])
    jobs.clear()
  }

  stream.on('data', (chunk: Buffer) => {
    if (killed) return // its messages no longer count
    heardAt = deps.now()
    pingedAt = undefined
    try {
      read(chunk)
    } catch (error) {
      deps.log.warn({ err: error, pid }, 'sandbox child killed: invalid message')
      kill('crash')
    }
  })
  stream.on('error', () => kill('crash'))
  process.once('error', end)
  process.once('close', end) // after all messages are read

  const silent = (): boolean => {
    const now = deps.now()
    if (!ready) return now > spawnedAt + START_MS
    if (entered !== undefined) return now > entered.until + SILENCE_MS
    if (pingedAt !== undefined) return now > pingedAt + PONG_MS
    if (now > heardAt + PING_AFTER_MS) {
      pingedAt = now
      send({ kind: 'ping' })
    }
    return false
  }

  return {
    pid,
    jobs,
    get ready() {
      return ready
    },
    get busy() {
      return entered !== undefined || given.size > 0
    },
    get since() {
      return entered?.at
    },
    get preparing() {
      return entered?.id === 0 && given.size === 0 ? entered.key : undefined
    },
    get tenantId() {
      return owner
    },
    knows: (key) => known.has(key),
    get programs() {
      return known.size
    },
    give: (job, trusted) => {
      const { code, ...program } = job.source
      const { tenantId } = program
      const { id, budgetMs } = job
      owner ??= tenantId
      const isKnown = known.has(program.key)
      if (!isKnown) send({ kind: 'program', ...program }, code)
      known.set(program.key, tenantId)
      jobs.set(id, job)
      given.add(id)
      quiet = trusted && isKnown && budgetMs !== undefined ? { id, key: program.key, budgetMs } : undefined
      job.begin(channel, quiet !== undefined)
      assume()
    },
    watch: () => {
      if (gone || killed) return
      const rss = ready ? rssOf(pid) : undefined
      if (rss !== undefined && rss > CHILD_RSS_MIB * MIB) kill('memory')
      // pending messages are read first: this process itself may have been slow
      else if (silent()) setImmediate(() => silent() && kill('unresponsive'))
    },
    kill,
  }
}
