import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, type AuditOrigin, type Json, type PluginContext } from '#sdk'
import { type CallbackRecord, Callbacks, Reactors } from './collections.ts'

/** Timeout of a receiver, ms. */
const TIMEOUT = 15_000
/** ms within which the outcome of an attempt must be stored. */
const CLAIM = 30_000
/** Maximum pending callbacks that a process checks at a time. */
const RESUMED = 1_000

/** Hexadecimal HMAC-SHA256 under the reactor's key, of the time (seconds), a dot and the body. */
const signature = (key: string, seconds: number, body: string): string =>
  createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')

/** The same as Standard Webhooks has it: base64, over the id of the request too. */
const standardSignature = (key: string, id: string, seconds: number, body: string): string =>
  createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')

/** Pending callbacks, by the id of their request. */
export interface Waiting {
  readonly tenantId: string
  readonly id: string
}

/** The outcome for a receiver, and its caller; the end of the lease of an invocation that runs. */
export type Pending =
  | { readonly body: Json; readonly origin: AuditOrigin }
  | { readonly runningUntil: number }

/** Access to results, for callbacks. */
interface Results {
  /** Undefined when the result is gone. */
  of(waiting: Waiting): Promise<Pending | undefined>
  /** A receiver has got it. */
  drop(waiting: Waiting): Promise<unknown>
  /** Whether the invocation runs in this process, which then delivers its result. */
  isRunning(id: string): boolean
}

/**
 * Posts results to the callers' callback URLs, at least once, until a receiver responds with 2xx or `delays` (ms
 * before each attempt) are used up. Pending callbacks are in the store, where any process resumes those that are
 * overdue. The process that advances a callback's due time makes the attempt. The audit journal has each attempt, with
 * its host, before it is sent.
 */
export const createCallbacks = (
  context: PluginContext,
  {
    delays,
    results,
    signal,
  }: {
    readonly delays: readonly number[]
    readonly results: Results
    readonly signal: AbortSignal
  },
) => {
  const callbacks = () => context.records(Callbacks)
  /** Deliveries of this process, by the id of their request. */
  const running = new Map<string, Promise<void>>()
  let resuming: Promise<void> | undefined

  const post = async (
    { id, reactor_id, url }: CallbackRecord,
    { tenantId, key }: { readonly tenantId: string; readonly key: string },
    { body, origin }: Exclude<Pending, { runningUntil: number }>,
  ): Promise<boolean> => {
    const text = JSON.stringify(body)
    const seconds = Math.floor(context.clock.now() / 1000)
    try {
      const message = `Reactor result sent to ${new URL(url).host}`
      await context.audit({ entity: 'reactor', id: reactor_id, operation: 'use', message }, origin)
      const { status } = await context.fetch(
        {
          url,
          method: 'POST',
          headers: [
            ['content-type', 'application/json'],
            ['sidevault-reactor', reactor_id],
            ['sidevault-signature', `t=${seconds},v1=${signature(key, seconds, text)}`],
            ['webhook-id', id],
            ['webhook-timestamp', String(seconds)],
            ['webhook-signature', `v1,${standardSignature(key, id, seconds, text)}`],
          ],
          body: text,
          tenantId,
        },
        AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]),
      )
      return status >= 200 && status < 300
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return false
    }
  }

  /** Makes the attempt that is due, unless another process claims it. Returns when to call it again, if at all. */
  const attempt = async ({ tenantId, id }: Waiting): Promise<number | undefined> => {
    const current = await callbacks().read(tenantId, id)
    if (current === undefined) return undefined
    const { record, version } = current
    const now = context.clock.now()
    if (record.due > now) return record.due
    const pending = await results.of({ tenantId, id })
    if (pending !== undefined && 'runningUntil' in pending) return pending.runningUntil
    const attempts = record.attempts + 1
    const claimed = { ...record, attempts, due: now + Math.max(CLAIM, delays[attempts] ?? 0) }
    try {
      await context.commit([callbacks().replaceMutation(tenantId, claimed, version)])
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return record.due
      throw thrown
    }
    const reactor = await context.records(Reactors).get(tenantId, record.reactor_id)
    // Read again: a token on which it depends may have been deleted since.
    const result = pending && (await results.of({ tenantId, id }))
    const over = reactor === undefined || result === undefined
    const sent =
      !over &&
      !('runningUntil' in result) &&
      (await post(record, { tenantId, key: reactor.callback_key }, result))
    if (sent) await results.drop({ tenantId, id })
    if (over || sent || attempts >= delays.length) {
      await callbacks().delete(tenantId, id)
      return undefined
    }
    const next = { ...claimed, due: context.clock.now() + (delays[attempts] ?? 0) }
    await callbacks().update(tenantId, id, (stored) => (stored.attempts === attempts ? next : stored))
    return next.due
  }

  const deliver = async (waiting: Waiting, first: number): Promise<void> => {
    let due: number | undefined = first
    while (due !== undefined && !signal.aborted) {
      await sleep(Math.max(0, due - context.clock.now()), undefined, { signal, ref: false })
      due = await attempt(waiting)
    }
  }

  const begin = (waiting: Waiting, due: number): void => {
    const { id } = waiting
    const work = deliver(waiting, due)
      .catch((err: unknown) => {
        if (!signal.aborted)
          context.log.warn(
            { err, request: id },
            'callback delivery interrupted; it is resumed when it is overdue',
          )
      })
      .finally(() => running.delete(id))
    running.set(id, work)
  }

  const resume = async (): Promise<void> => {
    const newest = await callbacks().newest(RESUMED)
    const now = context.clock.now()
    for (const { tenantId, record } of newest) {
      const { id, due } = record
      if (due <= now && !running.has(id) && !results.isRunning(id)) begin({ tenantId, id }, due)
    }
  }

  const tryResume = (): void => {
    resuming ??= resume()
      .catch((err: unknown) => {
        if (!signal.aborted) context.log.warn({ err }, 'overdue callbacks not read; retrying')
      })
      .finally(() => {
        resuming = undefined
      })
  }

  return {
    begin,
    /** Resumes overdue callbacks: of processes that exited, and of deliveries that the store interrupted. */
    resume,
    /** Resumes overdue callbacks now and every `intervalMs`, until `signal` is aborted. */
    start: (intervalMs: number): void => {
      tryResume()
      const timer = setInterval(tryResume, intervalMs).unref()
      signal.addEventListener('abort', () => clearInterval(timer), { once: true })
    },
    settled: async (): Promise<void> => {
      await resuming
      await Promise.allSettled(running.values())
    },
  }
}
