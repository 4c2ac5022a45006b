import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../common/log.ts'
import { createFrameReader, encodeFrame } from '../frames.ts'
import { CHILD_RSS_MIB, SILENCE_MS, USUAL_ISOLATES } from '../limits.ts'
import { asFromChild, type FromChild, type ToChild } from '../protocol.ts'
import type { End, Exit, ExitReason, LastEntered } from './exit.ts'
import type { Channel, Job, Source } from './job.ts'
import { rssOf } from './rss.ts'
import { RunningCode } from './running-code.ts'
import type { Spawned } from './spawn.ts'

const MIB = 2 ** 20
/** Start timeout of a child, in ms. */
const START_MS = 20_000
/** Milliseconds without a message until a ping, and the timeout of its pong. */
const PING_AFTER_MS = 1_000
const PONG_MS = 3_000

type State =
  | { readonly kind: 'starting' | 'ready' }
  | ({ readonly kind: 'killed' } & End)
  | { readonly kind: 'ended' }

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
  readonly onExit: (exit: Exit) => void
}

/** Child process and the jobs in it. */
export class Child implements Channel {
  readonly pid: number
  readonly #process: ChildProcess
  readonly #stream: Duplex
  readonly #deps: Deps
  readonly #jobs = new Map<number, Job>()
  /** Tenants by recent program. */
  readonly #programs = new LRUCache<string, string>({ max: USUAL_ISOLATES })
  readonly #code: RunningCode
  readonly #spawnedAt: number
  #state: State = { kind: 'starting' }
  #heardAt: number
  #pingedAt: number | undefined
  #tenantId: string | undefined

  constructor({ process, stream }: Spawned, deps: Deps) {
    this.pid = process.pid ?? 0
    this.#process = process
    this.#stream = stream
    this.#deps = deps
    this.#spawnedAt = deps.now()
    this.#heardAt = this.#spawnedAt
    this.#code = new RunningCode(deps.now, (key, ms) => {
      const tenantId = this.#programs.peek(key)
      if (tenantId !== undefined) deps.onSpent({ tenantId, key }, ms)
    })
    const read = createFrameReader(deps.maxBytes, ({ header, body }) => {
      const message = asFromChild(header)
      if (message === undefined) throw new Error('A message does not match the protocol.')
      this.#receive(message, body)
    })
    stream.on('data', (chunk: Buffer) => {
      if (this.#isOver) return // its messages no longer count
      this.#heardAt = deps.now()
      this.#pingedAt = undefined
      try {
        read(chunk)
      } catch (error) {
        deps.log.warn({ err: error, pid: this.pid }, 'sandbox child killed: invalid message')
        this.kill('crash')
      }
    })
    stream.on('error', () => this.kill('crash'))
    process.once('error', () => this.#end())
    process.once('close', () => this.#end()) // after all messages are read
  }

  get jobs(): ReadonlyMap<number, Job> {
    return this.#jobs
  }

  get ready(): boolean {
    return this.#state.kind === 'ready'
  }

  get closed(): boolean {
    return this.#state.kind === 'ended'
  }

  get #isOver(): boolean {
    return this.#state.kind === 'killed' || this.#state.kind === 'ended'
  }

  /** Runs code, or will immediately. */
  get busy(): boolean {
    return this.#code.busy
  }

  /** Start of the current entry, on the pool's clock. */
  get since(): number | undefined {
    return this.#code.entry?.at
  }

  /** Program whose next context it prepares, while it does nothing else. */
  get preparing(): string | undefined {
    return this.#code.preparing
  }

  /** Tenant of its first invocation. */
  get tenantId(): string | undefined {
    return this.#tenantId
  }

  /** How many isolates it should have. */
  get programs(): number {
    return this.#programs.size
  }

  /** Whether it should have the program's isolate. */
  knows(key: string): boolean {
    return this.#programs.has(key)
  }

  send(message: ToChild, body?: string): void {
    if (!this.closed && this.#stream.writable) this.#stream.write(encodeFrame(message, body))
  }

  /** Sends a job. `trusted`: the child need not report its start. */
  give(job: Job, trusted: boolean): void {
    const { code, ...program } = job.source
    const { key, tenantId } = program
    const { id, budgetMs } = job
    this.#tenantId ??= tenantId
    const isKnown = this.#programs.has(key)
    if (!isKnown) this.send({ kind: 'program', ...program }, code)
    this.#programs.set(key, tenantId)
    this.#jobs.set(id, job)
    const quiet = trusted && isKnown && budgetMs !== undefined ? { id, key, budgetMs } : undefined
    this.#code.sent(id, quiet)
    job.begin(this, quiet !== undefined)
    this.#code.assume()
  }

  /** Kills it when it does not respond or exceeds its memory. */
  watch(): void {
    if (this.#isOver) return
    const rss = this.ready ? rssOf(this.pid) : undefined
    if (rss !== undefined && rss > CHILD_RSS_MIB * MIB) this.kill('memory')
    // pending messages are read first: this process itself may have been slow
    else if (this.#isSilent()) setImmediate(() => this.#isSilent() && this.kill('unresponsive'))
  }

  kill(reason: ExitReason): void {
    if (this.#isOver) return
    this.#state = { kind: 'killed', reason, wasReady: this.ready }
    this.#process.kill('SIGKILL')
  }

  #isSilent(): boolean {
    const now = this.#deps.now()
    const { entry } = this.#code
    if (!this.ready) return now > this.#spawnedAt + START_MS
    if (entry !== undefined) return now > entry.until + SILENCE_MS
    if (this.#pingedAt !== undefined) return now > this.#pingedAt + PONG_MS
    if (now > this.#heardAt + PING_AFTER_MS) {
      this.#pingedAt = now
      this.send({ kind: 'ping' })
    }
    return false
  }

  #receive(message: FromChild, body: string): void {
    if (message.kind === 'pong') return
    if (message.kind === 'entering') {
      this.#code.enter(message.id, message.key, message.budgetMs)
      return
    }
    if (message.kind === 'call') {
      this.#jobs.get(message.id)?.onCall(message, body)
      return
    }
    if (message.kind === 'ready') {
      this.#state = { kind: 'ready' }
      this.#deps.onReady()
    } else if (message.kind === 'left') this.#code.leave(message.id)
    else this.#finish(message, body)
    this.#code.assume()
    this.#deps.onFree()
  }

  /** The job of the message is no longer in this child. */
  #finish(
    message: Extract<FromChild, { kind: 'ended' | 'checked' | 'unknown' | 'lost' }>,
    body: string,
  ): void {
    const job = this.#jobs.get(message.id)
    this.#code.leave(message.id)
    this.#jobs.delete(message.id)
    if (job === undefined) return
    if (message.kind === 'ended') {
      if (message.preparingMs > 0) this.#code.enter(0, job.source.key, message.preparingMs)
      job.onEnded(message, body)
    } else if (message.kind === 'checked') job.onChecked(message.issues)
    else if (message.kind === 'unknown') {
      this.#programs.delete(job.source.key)
      this.#deps.onUnknown(job)
    } else this.#deps.onLost(job)
  }

  /** Undefined also for a program that the child was never given. */
  #lastEntered(): LastEntered | undefined {
    const { entry } = this.#code
    const tenantId = entry && (this.#jobs.get(entry.id)?.source.tenantId ?? this.#programs.peek(entry.key))
    if (entry === undefined || tenantId === undefined) return undefined
    return { ...entry, tenantId, isShared: [...this.#programs.values()].some((other) => other !== tenantId) }
  }

  #end(): void {
    const state = this.#state
    if (state.kind === 'ended') return
    this.#state = { kind: 'ended' }
    this.#stream.destroy()
    this.#code.charge()
    const end: End = state.kind === 'killed' ? state : { reason: 'crash', wasReady: state.kind === 'ready' }
    const jobs = [...this.#jobs.values()]
    this.#deps.onExit({ reason: end.reason, wasReady: end.wasReady, entered: this.#lastEntered(), jobs })
    this.#jobs.clear()
  }
}
