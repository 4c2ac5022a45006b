import type { Log } from '../../common/log.ts'
import { Child } from './child.ts'
import { consequenceOf, type Exit, type ExitReason, isShared } from './exit.ts'
import type { Job } from './job.ts'
import { createQueue } from './queue.ts'
import { createScheduler } from './scheduler.ts'
import type { Spawned } from './spawn.ts'
import type { TrustTracker } from './trust.ts'

/** Interval of checks of each child, in ms. */
const WATCH_MS = 50
/** Restarts of a job whose child died because of another one. */
const MAX_ATTEMPTS = 5
/** Milliseconds until the respawn of a child that failed to start. */
const RETRY_MS = 500
/** Failed starts after which the pool itself fails to start. */
const MAX_START_FAILURES = 6

interface Deps {
  readonly log: Log
  readonly now: () => number
  readonly spawn: () => Spawned
  readonly maxBytes: number
  /** Each child serves one tenant only. */
  readonly oneTenantPerChild: boolean
  readonly trust: TrustTracker
  readonly onChild: (pid: number, what: 'started' | 'ended', why?: ExitReason) => void
}

/** Maintains the children: spawns, watches and replaces them. */
export class Pool {
  readonly #deps: Deps
  readonly #slots: (Child | undefined)[]
  readonly #queue = createQueue()
  readonly #scheduler: ReturnType<typeof createScheduler>
  readonly #attempts = new WeakMap<Job, number>()
  readonly #retries = new Set<NodeJS.Timeout>()
  readonly #watching: NodeJS.Timeout
  readonly #ready = Promise.withResolvers<void>()
  #startFailures = 0
  /** Set while and after it closes. */
  #closing: PromiseWithResolvers<void> | undefined

  constructor(size: number, deps: Deps) {
    this.#deps = deps
    this.#slots = Array.from({ length: size })
    this.#scheduler = createScheduler(this.#slots, this.#queue, deps)
    this.#ready.promise.catch(() => {}) // handled by users of `ready`
    this.#watching = setInterval(() => {
      for (const child of this.#slots) child?.watch()
      this.#scheduler.dispatch()
    }, WATCH_MS)
    for (let slot = 0; slot < size; slot++) this.#spawn(slot)
  }

  /** Resolves when the first child is ready. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get alive(): number {
    return this.#slots.filter((child) => child?.ready).length
  }

  submit(job: Job): void {
    const { trust } = this.#deps
    const { key, tenantId } = job.source
    if (this.#closing !== undefined) job.fail('cancelled')
    else if (trust.quarantined(key)) job.fail('quarantine')
    else if (!this.#queue.add(job, trust.levelOf(key, tenantId))) job.fail('overload')
    else this.#scheduler.dispatch()
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    clearInterval(this.#watching)
    for (const retry of this.#retries) clearTimeout(retry)
    for (const job of this.#queue.clear()) job.fail('cancelled')
    for (const child of this.#slots) child?.kill('closed')
    this.#endIfEmpty(this.#closing)
    await this.#closing.promise
  }

  #endIfEmpty(closing: PromiseWithResolvers<void>): void {
    if (this.#slots.every((child) => child === undefined)) closing.resolve()
  }

  #spawn(slot: number): void {
    if (this.#closing !== undefined) return
    const { spawn, log, now, maxBytes, onChild } = this.#deps
    let spawned: Spawned
    try {
      spawned = spawn()
    } catch (err) {
      log.warn({ err }, 'sandbox child failed to start; retrying')
      this.#spawnLater(slot)
      return
    }
    const child = new Child(spawned, {
      log,
      now,
      maxBytes,
      onReady: this.#ready.resolve,
      onFree: this.#scheduler.dispatch,
      onUnknown: (job) => {
        if (!job.over) child.give(job, false)
      },
      onLost: (job) => this.#repeat(job),
      onSpent: this.#queue.charge,
      onExit: (exit) => this.#onExit(slot, child, exit),
    })
    this.#slots[slot] = child
    onChild(child.pid, 'started')
  }

  #spawnLater(slot: number): void {
    if (++this.#startFailures >= MAX_START_FAILURES)
      this.#ready.reject(new Error('The sandbox children failed to start.'))
    const retry = setTimeout(() => {
      this.#retries.delete(retry)
      this.#spawn(slot)
    }, RETRY_MS)
    this.#retries.add(retry)
  }

  #repeat(job: Job): void {
    if (job.over) return
    const attempt = (this.#attempts.get(job) ?? 0) + 1
    this.#attempts.set(job, attempt)
    if (!job.repeatable || attempt > MAX_ATTEMPTS) job.fail('interrupted')
    else this.#queue.again(job)
  }

  #onExit(slot: number, { pid }: Child, exit: Exit): void {
    const { reason, wasReady, entered, jobs } = exit
    const { log, trust, onChild } = this.#deps
    this.#slots[slot] = undefined
    onChild(pid, 'ended', reason)
    if (this.#closing !== undefined) {
      for (const job of jobs) job.fail('cancelled')
      this.#endIfEmpty(this.#closing)
      return
    }
    if (reason !== 'replaced') {
      if (entered?.assumed) trust.exceeded(entered.key)
      else if (entered !== undefined) trust.killed(entered, isShared(exit) ? 'shared' : 'alone')
      log.warn({ pid, reason, jobs: jobs.length }, 'sandbox child exited; respawning it')
    }
    for (const job of jobs) {
      const consequence = consequenceOf(job, exit)
      if (consequence === 'repeat alone') this.#scheduler.runAlone(job, slot)
      if (consequence === 'repeat' || consequence === 'repeat alone') this.#repeat(job)
      else job.fail(consequence)
    }
    if (wasReady) this.#spawn(slot)
    else this.#spawnLater(slot)
  }
}
