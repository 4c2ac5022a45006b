import { availableParallelism } from 'node:os'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../common/log.ts'
import { USUAL_ISOLATES } from '../limits.ts'
import type { LimitName } from '../types.ts'
import { type Child, createChild, type ExitReason, type LastEntered } from './child.ts'
import { chooseChild } from './child-selection.ts'
import type { Job } from './job.ts'
import { createQueue } from './queue.ts'
import { createReservations } from './reservations.ts'
import type { Spawned } from './spawn.ts'
import type { TrustTracker } from './trust.ts'

/** Concurrent invocations of one child, and of one program in a child. */
const MAX_INVOCATIONS_PER_CHILD = 64
const MAX_OF_PROGRAM = 24
/** Largest part of all places for one tenant. */
const TENANT_SHARE = 0.5
/** Children that run code concurrently: more would compete for CPU while their limits count down. */
const AT_ONCE = Math.max(2, availableParallelism())
/**
 * Recent programs that may have isolates in several children; and the time, in ms, that another program waits for the
 * child that has its isolate.
 */
const MAX_POPULAR = USUAL_ISOLATES / 2
const AFFINITY_WAIT_MS = 5
/** Interval of checks of each child, in ms. */
const WATCH_MS = 50
/** Restarts of a job whose child died because of another one. */
const MAX_ATTEMPTS = 5
/** Milliseconds until the respawn of a child that failed to start. */
const RETRY_MS = 500
/** Failed starts after which the pool itself fails to start. */
const MAX_START_FAILURES = 6

const FAILURE: Readonly<Record<ExitReason, LimitName>> = {
  unresponsive: 'cpu',
  memory: 'memory',
  crash: 'crash',
  closed: 'cancelled',
  replaced: 'crash',
}

interface Deps {
  readonly log: Log
  readonly now: () => number
  readonly spawn: () => Spawned
  readonly maxBytes: number
  /** Each child serves one tenant only. */
  readonly oneTenantPerChild: boolean
  readonly reputation: TrustTracker
  readonly onChild: (pid: number, what: 'started' | 'ended', why?: ExitReason) => void
}

/** Maintains the children and assigns jobs to them. */
export const createPool = (size: number, deps: Deps) => {
  const slots: (Child | undefined)[] = Array.from({ length: size })
  const queue = createQueue()
  const attempts = new WeakMap<Job, number>()
  const retries = new Set<NodeJS.Timeout>()
  const popular = new LRUCache<string, true>({ max: MAX_POPULAR })
  const everReady = Promise.withResolvers<void>()
  let startFailures = 0
  let closing: PromiseWithResolvers<void> | undefined

  const placesOf = (tenantId: string): number => {
    let places = 0
    for (const child of slots)
      for (const job of child?.jobs.values() ?? []) if (job.source.tenantId === tenantId) places++
    return places
  }

  const programIn = (child: Child, key: string): number => {
    let guests = 0
    for (const job of child.jobs.values()) if (job.source.key === key) guests++
    return guests
  }

  const trusted = ({ source: { key, tenantId } }: Job): boolean =>
    deps.reputation.standing(key, tenantId) === 'trusted'

  const reservations = createReservations({
    slots,
    separated: deps.reputation.separated,
    separatedWait: () => queue.hasTenant(deps.reputation.separated),
  })

  /** With one tenant per child: whether a tenant may own one more child. */
  const mayOwn = (tenantId: string): boolean =>
    slots.filter((child) => child?.tenantId === tenantId).length < Math.max(1, size * TENANT_SHARE)

  const mayTake = (child: Child, job: Job): boolean => {
    const { key, tenantId } = job.source
    const isFor = deps.oneTenantPerChild
      ? child.ready && (child.tenantId === tenantId || (child.tenantId === undefined && mayOwn(tenantId)))
      : reservations.permit(child, job, trusted(job))
    return isFor && programIn(child, key) < MAX_OF_PROGRAM
  }

  const isIdle = (child: Child | undefined): child is Child =>
    child?.ready === true && child.jobs.size === 0 && (!child.busy || nearlyFree(child))

  /** With one tenant per child: kills an idle child for a tenant that has none. */
  const replaceIdleChildFor = ({ source: { tenantId } }: Job): void => {
    const served = slots.some((child) => !child?.ready || (child.tenantId ?? tenantId) === tenantId)
    if (deps.oneTenantPerChild && !served) slots.find(isIdle)?.kill('replaced')
  }

  /** Whether the child with the program's isolate will be free soon: creating another isolate takes longer. */
  const soon = (job: Job): boolean =>
    slots.some(
      (child) =>
        child?.knows(job.source.key) &&
        child.jobs.size < MAX_INVOCATIONS_PER_CHILD &&
        (child.since ?? deps.now()) > deps.now() - AFFINITY_WAIT_MS &&
        mayTake(child, job),
    )

  const admits = (child: Child, job: Job): boolean =>
    mayTake(child, job) && (child.knows(job.source.key) || popular.has(job.source.key) || !soon(job))

  /** True while a child prepares a context of a trusted program, which is short. */
  const nearlyFree = ({ preparing }: Child): boolean =>
    preparing !== undefined && deps.reputation.standing(preparing) === 'trusted'

  const isFree = (child: Child | undefined): child is Child =>
    child?.ready === true && child.jobs.size < MAX_INVOCATIONS_PER_CHILD && (!child.busy || nearlyFree(child))

  const give = (child: Child, job: Job) => {
    popular.set(job.source.key, true)
    if (deps.reputation.quarantined(job.source.key)) job.fail('quarantine')
    else child.give(job, trusted(job))
  }

  const dispatch = () => {
    for (;;) {
      if (queue.size === 0 || closing !== undefined) return
      if (!deps.oneTenantPerChild) reservations.update()
      const running = slots.filter((child) => child?.busy && child.preparing === undefined).length
      const free = slots.filter(isFree).filter(({ busy }) => busy || running < AT_ONCE)
      if (free.length === 0) return
      const job = queue.next((candidate) => {
        replaceIdleChildFor(candidate)
        const used = reservations.usedChildFor(candidate)
        if (isIdle(used)) used.kill('replaced')
        return (
          free.some((child) => admits(child, candidate)) &&
          placesOf(candidate.source.tenantId) < size * MAX_INVOCATIONS_PER_CHILD * TENANT_SHARE
        )
      })
      if (job === undefined) return
      const able = free.filter((child) => admits(child, job))
      give(chooseChild(able, job.source.key), job)
    }
  }

  const requeue = (job: Job) => {
    if (job.over) return
    const attempt = (attempts.get(job) ?? 0) + 1
    attempts.set(job, attempt)
    if (!job.repeatable || attempt > MAX_ATTEMPTS) job.fail('interrupted')
    else queue.again(job)
  }

  const onExit = (
    slot: number,
    child: Child,
    why: ExitReason,
    entered: LastEntered | undefined,
    jobs: readonly Job[],
  ) => {
    /** Programs of other tenants hold memory, so the one that ran last may not be the cause. */
    const isShared =
      (why !== 'unresponsive' && entered?.isShared === true) ||
      jobs.some(({ source }) => source.tenantId !== entered?.tenantId)
    slots[slot] = undefined
    deps.onChild(child.pid, 'ended', why)
    if (closing !== undefined) {
      for (const job of jobs) job.fail('cancelled')
      if (slots.every((other) => other === undefined)) closing.resolve()
      return
    }
    if (why !== 'replaced') {
      if (entered?.assumed) deps.reputation.exceeded(entered.key)
      else if (entered !== undefined) deps.reputation.killed(entered, isShared ? 'shared' : 'alone')
      deps.log.warn({ pid: child.pid, reason: why, jobs: jobs.length }, 'sandbox child exited; respawning it')
    }
    for (const job of jobs) {
      if (job.id !== entered?.id || entered.assumed) requeue(job)
      else if (!isShared) job.fail(FAILURE[why])
      else if (!job.repeatable) job.fail(why === 'unresponsive' ? 'cpu' : 'interrupted')
      else {
        reservations.runAlone(job, slot)
        requeue(job)
      }
    }
    if (child.ready) spawnChild(slot)
    else spawnLater(slot)
  }

  const spawnLater = (slot: number) => {
    if (++startFailures >= MAX_START_FAILURES)
      everReady.reject(new Error('The sandbox children failed to start.'))
    const retry = setTimeout(() => {
      retries.delete(retry)
      spawnChild(slot)
    }, RETRY_MS)
    retries.add(retry)
  }

  const spawn = (): Spawned | undefined => {
    try {
      return deps.spawn()
    } catch (err) {
      deps.log.warn({ err }, 'sandbox child failed to start; retrying')
      return undefined
    }
  }

  const spawnChild = (slot: number) => {
    if (closing !== undefined) return
    const spawned = spawn()
    if (spawned === undefined) return spawnLater(slot)
    let wasReady = false
    const child = createChild(spawned, {
      log: deps.log,
      now: deps.now,
      maxBytes: deps.maxBytes,
      onReady: () => {
        wasReady = true
        everReady.resolve()
      },
      onFree: dispatch,
      onUnknown: (job) => {
        if (!job.over) child.give(job, false)
      },
      onLost: requeue,
      onSpent: queue.charge,
      onGone: (why, entered, jobs) => onExit(slot, { ...child, ready: wasReady }, why, entered, jobs),
    })
    slots[slot] = child
    deps.onChild(child.pid, 'started')
  }

  const watching = setInterval(() => {
    for (const child of slots) child?.watch()
    dispatch()
  }, WATCH_MS)

  for (let slot = 0; slot < size; slot++) spawnChild(slot)
  everReady.promise.catch(() => {}) // handled by users of `ready`

  return {
    /** Resolves when the first child is ready. */
    ready: everReady.promise,
    get alive(): number {
      return slots.filter((child) => child?.ready).length
    },
    submit: (job: Job): void => {
      if (closing !== undefined) job.fail('cancelled')
      else if (deps.reputation.quarantined(job.source.key)) job.fail('quarantine')
      else if (!queue.add(job, deps.reputation.standing(job.source.key, job.source.tenantId)))
        job.fail('overload')
      else dispatch()
    },
    close: async (): Promise<void> => {
      closing ??= Promise.withResolvers()
      clearInterval(watching)
      for (const retry of retries) clearTimeout(retry)
      for (const job of queue.clear()) job.fail('cancelled')
      for (const child of slots) child?.kill('closed')
      if (slots.every((child) => child === undefined)) closing.resolve()
      await closing.promise
    },
  }
}
