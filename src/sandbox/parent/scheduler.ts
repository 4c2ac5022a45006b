import { availableParallelism } from 'node:os'
import { LRUCache } from 'lru-cache'
import { USUAL_ISOLATES } from '../limits.ts'
import type { Child } from './child.ts'
import type { ChildRules, Slots } from './child-rules.ts'
import { chooseChild } from './child-selection.ts'
import type { Job } from './job.ts'
import type { Queue } from './queue.ts'
import { createReservations } from './reservations.ts'
import { createTenantChildren, TENANT_SHARE } from './tenant-children.ts'
import type { TrustTracker } from './trust.ts'

/** Concurrent invocations of one child, and of one program in a child. */
const MAX_INVOCATIONS_PER_CHILD = 64
const MAX_OF_PROGRAM = 24
/** Children that run code concurrently: more would compete for CPU while their limits count down. */
const AT_ONCE = Math.max(2, availableParallelism())
/**
 * Recent programs that may have isolates in several children; and the time, in ms, that another program waits for the
 * child that has its isolate.
 */
const MAX_POPULAR = USUAL_ISOLATES / 2
const AFFINITY_WAIT_MS = 5

interface Deps {
  readonly now: () => number
  readonly trust: TrustTracker
  /** Each child serves one tenant only. */
  readonly oneTenantPerChild: boolean
}

const placesOf = (slots: Slots, tenantId: string): number => {
  let places = 0
  for (const child of slots)
    for (const job of child?.jobs.values() ?? []) if (job.source.tenantId === tenantId) places++
  return places
}

const invocationsOf = (key: string, child: Child): number => {
  let invocations = 0
  for (const job of child.jobs.values()) if (job.source.key === key) invocations++
  return invocations
}

/** Assigns queued jobs to children that run no code. */
export const createScheduler = (slots: Slots, queue: Queue, { now, trust, oneTenantPerChild }: Deps) => {
  const popular = new LRUCache<string, true>({ max: MAX_POPULAR })

  const trusted = ({ source: { key, tenantId } }: Job): boolean => trust.levelOf(key, tenantId) === 'trusted'

  /** False also while a child prepares a context of a trusted program, which is short. */
  const isOccupied = ({ busy, preparing }: Child): boolean =>
    busy && (preparing === undefined || trust.levelOf(preparing) !== 'trusted')

  const isIdle = (child: Child): boolean => child.ready && child.jobs.size === 0 && !isOccupied(child)

  const isFree = (child: Child | undefined): child is Child =>
    child?.ready === true && child.jobs.size < MAX_INVOCATIONS_PER_CHILD && !isOccupied(child)

  const reservations = createReservations({
    slots,
    separated: trust.separated,
    separatedWait: () => queue.hasTenant(trust.separated),
  })
  const rules: ChildRules = oneTenantPerChild ? createTenantChildren(slots, isIdle) : reservations

  const mayTake = (child: Child, job: Job): boolean =>
    rules.permit(child, job, trusted(job)) && invocationsOf(job.source.key, child) < MAX_OF_PROGRAM

  /** Whether the child with the program's isolate will be free soon: creating another isolate takes longer. */
  const soon = (job: Job): boolean =>
    slots.some(
      (child) =>
        child?.knows(job.source.key) &&
        child.jobs.size < MAX_INVOCATIONS_PER_CHILD &&
        (child.since ?? now()) > now() - AFFINITY_WAIT_MS &&
        mayTake(child, job),
    )

  const admits = (child: Child, job: Job): boolean =>
    mayTake(child, job) && (child.knows(job.source.key) || popular.has(job.source.key) || !soon(job))

  const hasPlace = ({ source: { tenantId } }: Job): boolean =>
    placesOf(slots, tenantId) < slots.length * MAX_INVOCATIONS_PER_CHILD * TENANT_SHARE

  const give = (child: Child, job: Job): void => {
    popular.set(job.source.key, true)
    if (trust.quarantined(job.source.key)) job.fail('quarantine')
    else child.give(job, trusted(job))
  }

  /** Assigns one job; false when none can run now. */
  const assign = (): boolean => {
    if (queue.size === 0) return false
    rules.update()
    const running = slots.filter((child) => child?.busy && child.preparing === undefined).length
    const free = slots.filter(isFree).filter(({ busy }) => busy || running < AT_ONCE)
    if (free.length === 0) return false
    const job = queue.next((candidate) => {
      const obstacle = rules.childToReplaceFor(candidate)
      if (obstacle !== undefined && isIdle(obstacle)) obstacle.kill('replaced')
      return free.some((child) => admits(child, candidate)) && hasPlace(candidate)
    })
    if (job === undefined) return false
    const able = free.filter((child) => admits(child, job))
    give(chooseChild(able, job.source.key), job)
    return true
  }

  return {
    dispatch: (): void => {
      while (assign());
    },
    /** Runs a job again alone, at best in this slot, whose child exited. */
    runAlone: reservations.runAlone,
  }
}
