import { createHmac } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { AppError, type Json, type PluginContext } from '#sdk'
import { type CallbackRecord, Callbacks, Reactors } from './collections.ts'

/** Milliseconds that a receiver has to answer. */
const TIMEOUT = 15_000
/** Milliseconds within which whoever began an attempt has written down how it went. */
const CLAIM = 30_000
/** Characters of a record's message (completions §10). */
const MESSAGE_LENGTH = 250
/** Deliveries that are taken up again when a process starts. */
const RESUMED = 1_000

/** Hexadecimal HMAC-SHA256, by the reactor's key, of the time (seconds), a dot and the body. */
const signature = (key: string, seconds: number, body: string): string =>
  createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')

/** Callbacks that wait, by the id of their request. */
export interface Waiting {
  readonly tenantId: string
  readonly id: string
}

/** What a receiver is to get, and on whose behalf. */
export interface Pending {
  readonly body: Json
  readonly actor_id: string
  readonly actor_type: string
  readonly trace_id: string
}

/** Results of requests, as callbacks need them. */
export interface Results {
  /** Undefined when there is nothing any more. */
  of(waiting: Waiting): Promise<Pending | undefined>
  /** A receiver has it. */
  drop(waiting: Waiting): Promise<unknown>
}

/**
 * Posts results to where callers asked for them, at least once, until a receiver answers 2xx or `delays` (milliseconds
 * before each attempt) are used up. What waits lies in the store: another process, or a later one, takes it up; whoever
 * moves its time ahead has the attempt. Each attempt is in the audit journal, with its host, before a byte leaves.
 */
export const createCallbacks = (
  kernel: PluginContext,
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
  const callbacks = () => kernel.records(Callbacks)
  const running = new Set<Promise<void>>()

  const post = async (
    { reactor_id, url }: CallbackRecord,
    { tenantId, key }: { readonly tenantId: string; readonly key: string },
    { body, ...by }: Pending,
  ): Promise<boolean> => {
    const text = JSON.stringify(body)
    const now = kernel.clock.now()
    const seconds = Math.floor(now / 1000)
    try {
      await kernel.audit({
        ...by,
        tenant_id: tenantId,
        entity_type: 'reactor',
        entity_id: reactor_id,
        operation: 'use',
        message: `Reactor result sent to ${new URL(url).host}`.slice(0, MESSAGE_LENGTH),
        created_at: now,
      })
      const { status } = await kernel.fetch(
        {
          url,
          method: 'POST',
          headers: [
            ['content-type', 'application/json'],
            ['sidevault-reactor', reactor_id],
            ['sidevault-signature', `t=${seconds},v1=${signature(key, seconds, text)}`],
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

  /** One attempt, if it is still to be made and nobody else makes it: the record as it is then; undefined: it is over. */
  const attempt = async ({ tenantId, id }: Waiting): Promise<CallbackRecord | undefined> => {
    const current = await callbacks().read(tenantId, id)
    if (current === undefined) return undefined
    const { record, version } = current
    const now = kernel.clock.now()
    if (record.due > now) return record
    const attempts = record.attempts + 1
    const claimed = { ...record, attempts, due: now + Math.max(CLAIM, delays[attempts] ?? 0) }
    try {
      await kernel.commit([callbacks().replacing(tenantId, claimed, version)])
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return record
      throw thrown
    }
    const reactor = await kernel.records(Reactors).get(tenantId, record.reactor_id)
    const result = await results.of({ tenantId, id })
    const over = reactor === undefined || result === undefined
    const sent = !over && (await post(record, { tenantId, key: reactor.callback_key }, result))
    if (sent) await results.drop({ tenantId, id })
    if (over || sent || attempts >= delays.length) {
      await callbacks().delete(tenantId, id)
      return undefined
    }
    const next = { ...claimed, due: kernel.clock.now() + (delays[attempts] ?? 0) }
    await callbacks().update(tenantId, id, (stored) => (stored.attempts === attempts ? next : stored))
    return next
  }

  const deliver = async (waiting: Waiting, first: number): Promise<void> => {
    let due: number | undefined = first
    while (due !== undefined && !signal.aborted) {
      await setTimeout(Math.max(0, due - kernel.clock.now()), undefined, { signal, ref: false })
      due = (await attempt(waiting))?.due
    }
  }

  const begin = (waiting: Waiting, due: number): void => {
    const work = deliver(waiting, due)
      .catch((err: unknown) => {
        if (!signal.aborted) kernel.log.error({ err, request: waiting.id }, 'a callback waits for a restart')
      })
      .finally(() => running.delete(work))
    running.add(work)
  }

  return {
    begin,
    /** Takes up what was left by processes that are gone. */
    resume: async (): Promise<void> => {
      for (const { tenantId, record } of await callbacks().newest(RESUMED))
        begin({ tenantId, id: record.id }, record.due)
    },
    settled: async (): Promise<void> => {
      await Promise.allSettled(running)
    },
  }
}
