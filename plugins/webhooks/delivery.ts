import { AppError, isoTime, newId, type PluginContext } from '#sdk'
import {
  Deliveries,
  type DeliveryRecord,
  type WebhookEvent,
  type WebhookRecord,
  Webhooks,
} from './collections.ts'
import { signatureHeaders } from './sign.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** ms before each repetition, and the part of it by which they vary. */
const DELAYS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  DAY,
]
const JITTER = 0.2

/** Timeout of a receiver, ms. */
const TIMEOUT = 10 * SECOND
/** ms within which the outcome of an attempt must be stored: then another process may repeat it. */
const CLAIM = 30 * SECOND
/** A webhook that has failed for so long is disabled, ms. */
const FAILING = 5 * DAY
/** Deliveries are removed after it, ms. */
const RETENTION = 7 * DAY
/** Concurrent attempts of one webhook in a process. */
const CONCURRENCY = 4
/** A webhook with more pending deliveries is disabled. */
const MAX_PENDING = 100_000
/** Longest wait within a process, ms; later attempts are made by the job. */
const MAX_WAIT = 3 * MINUTE
/** Deliveries of one read. */
const PAGE = 50

const queueOf = (webhookId: string, due: number): string => `${webhookId} ${Math.floor(due / HOUR)}`

/** All queues of a webhook that may have deliveries that are due. */
const queuesUntil = (webhookId: string, now: number): readonly string[] => {
  const queues: string[] = []
  for (let at = now; at > now - RETENTION - HOUR; at -= HOUR) queues.push(queueOf(webhookId, at))
  return queues
}

/** A delivery that is due now. */
export const newDelivery = (
  id: string,
  {
    webhook,
    event,
    now,
  }: { readonly webhook: WebhookRecord; readonly event: WebhookEvent; readonly now: number },
): DeliveryRecord => ({
  id,
  webhook_id: webhook.id,
  event,
  status: 'pending',
  attempts: 0,
  due: now,
  queue: queueOf(webhook.id, now),
  created_at: now,
  expires_at: now + RETENTION,
})

type Attempt = NonNullable<DeliveryRecord['last_attempt']>

const isAccepted = ({ status = 0 }: Attempt): boolean => status >= 200 && status < 300

const without = <T extends object, K extends keyof T>(record: T, ...members: readonly K[]): Omit<T, K> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !members.includes(name as K))) as Omit<T, K>

/** The delivery after an attempt. `repeats`: it is made again when that failed. */
const after = (delivery: DeliveryRecord, attempt: Attempt, due: number | undefined): DeliveryRecord => {
  const last_attempt = attempt
  if (isAccepted(attempt)) return { ...without(delivery, 'queue'), last_attempt, status: 'delivered' }
  if (due === undefined) return { ...without(delivery, 'queue'), last_attempt, status: 'failed' }
  return { ...delivery, last_attempt, due, queue: queueOf(delivery.webhook_id, due) }
}

/**
 * Sends deliveries. The store is the queue of each webhook. A process that is woken for a webhook sends what is due of
 * it, so that no webhook waits for another one. The process that advances the due time of a delivery makes the attempt.
 */
export const createSender = (
  context: PluginContext,
  signal: AbortSignal,
  random: () => number = Math.random,
) => {
  const webhooks = () => context.records(Webhooks)
  const deliveries = () => context.records(Deliveries)
  /** Webhooks that are being sent to; true: woken again since. */
  const active = new Map<string, boolean>()
  const running = new Set<Promise<void>>()
  const timers = new Map<string, NodeJS.Timeout>()
  signal.addEventListener('abort', () => {
    for (const timer of timers.values()) clearTimeout(timer)
  })

  /** One request to the receiver. */
  const post = async (tenantId: string, webhook: WebhookRecord, event: WebhookEvent): Promise<Attempt> => {
    const at = context.clock.now()
    const { secret, previous_secret, previous_until = 0 } = webhook
    const secrets = [
      secret,
      ...(previous_secret !== undefined && previous_until > at ? [previous_secret] : []),
    ]
    const body = JSON.stringify({ event, delivered_at: isoTime(at) })
    const signed = signatureHeaders(secrets, { id: event.id, seconds: Math.floor(at / SECOND), body })
    try {
      const { status } = await context.fetch(
        {
          url: webhook.url,
          method: 'POST',
          headers: [['content-type', 'application/json'], ...signed],
          body,
          tenantId,
        },
        AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]),
      )
      return { at, status }
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return { at, error: thrown.code }
    }
  }

  const disable = async (tenantId: string, id: string, why: string): Promise<void> => {
    let isChanged = false
    await webhooks().update(tenantId, id, (current) => {
      isChanged = current.status === 'enabled'
      return isChanged ? { ...current, status: 'disabled', modified_at: context.clock.now() } : current
    })
    if (!isChanged) return
    await context.audit(
      { entity: 'webhook', id, operation: 'disable', message: `Webhook disabled: ${why}` },
      { caller: { tenantId, actorId: id, actorType: 'webhook' }, traceId: newId() },
    )
  }

  /** Notes since when a webhook fails, and disables it when that is too long. */
  const note = async (tenantId: string, { id, failing_since }: WebhookRecord, attempt: Attempt) => {
    if (isAccepted(attempt)) {
      if (failing_since !== undefined)
        await webhooks().update(tenantId, id, (current) =>
          current.failing_since === undefined ? current : { ...without(current, 'failing_since') },
        )
      return
    }
    if (attempt.status === 410) return disable(tenantId, id, 'the receiver responded with 410')
    if (failing_since === undefined)
      await webhooks().update(tenantId, id, (current) =>
        current.failing_since === undefined ? { ...current, failing_since: attempt.at } : current,
      )
    else if (attempt.at - failing_since >= FAILING)
      await disable(tenantId, id, 'no attempt succeeded for five days')
  }

  /** Makes the attempt that is due, unless another process does. Returns the time of the next one. */
  const attempt = async (tenantId: string, id: string): Promise<number | undefined> => {
    const [stored, now] = [await deliveries().read(tenantId, id), context.clock.now()]
    if (stored?.record.status !== 'pending' || stored.record.due > now) return undefined
    const { record, version } = stored
    const webhook = await webhooks().get(tenantId, record.webhook_id)
    if (webhook?.status !== 'enabled') return undefined
    const attempts = record.attempts + 1
    const due = now + CLAIM
    const claimed: DeliveryRecord = { ...record, attempts, due, queue: queueOf(webhook.id, due) }
    try {
      await context.commit([deliveries().replaceMutation(tenantId, claimed, version)])
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return undefined
      throw thrown
    }
    const made = await post(tenantId, webhook, record.event)
    if (signal.aborted && made.error !== undefined) return undefined
    const delay = DELAYS[attempts - 1]
    const factor = 1 - JITTER + 2 * JITTER * random()
    const next = delay === undefined ? undefined : context.clock.now() + Math.round(delay * factor)
    const settled = await deliveries().update(tenantId, id, (current) =>
      current.attempts === attempts ? after(current, made, next) : current,
    )
    await note(tenantId, webhook, made)
    return settled?.status === 'pending' ? settled.due : undefined
  }

  /** Sends all that is due of a webhook, and wakes it again when the next delivery is, if that is soon. */
  const drain = async (tenantId: string, webhookId: string): Promise<void> => {
    const sending = new Set<Promise<void>>()
    let nextDue = Number.POSITIVE_INFINITY
    let waiting = 0
    let start: string | undefined
    let failure: unknown
    const noteDue = (due: number | undefined) => {
      nextDue = Math.min(nextDue, due ?? Number.POSITIVE_INFINITY)
    }
    const where = { queue: queuesUntil(webhookId, context.clock.now()) }
    do {
      const page = await deliveries().find(tenantId, { where, size: PAGE, ...(start && { start }) })
      for (const { id, due } of page.items) {
        if (signal.aborted || failure !== undefined) break
        if (due > context.clock.now()) {
          waiting++
          noteDue(due)
          continue
        }
        // Handled here: when the read of the next page fails, too, nothing else awaits it.
        const sent = attempt(tenantId, id)
          .then(noteDue, (thrown: unknown) => {
            failure ??= thrown
          })
          .finally(() => sending.delete(sent))
        sending.add(sent)
        if (sending.size >= CONCURRENCY) await Promise.race(sending)
      }
      start = page.next
    } while (start !== undefined && failure === undefined && !signal.aborted)
    await Promise.all(sending)
    if (failure !== undefined) throw failure
    // Reading many that wait is not done often.
    const wait = Math.max(nextDue - context.clock.now(), waiting)
    if (wait <= MAX_WAIT && !signal.aborted)
      timers.set(webhookId, setTimeout(wake, wait, tenantId, webhookId).unref())
  }

  /** Sends what is due of a webhook, in the background. */
  const wake = (tenantId: string, webhookId: string): void => {
    if (signal.aborted) return
    if (active.has(webhookId)) {
      active.set(webhookId, true)
      return
    }
    active.set(webhookId, false)
    clearTimeout(timers.get(webhookId))
    timers.delete(webhookId)
    const work = drain(tenantId, webhookId)
      .catch((err: unknown) => {
        if (!signal.aborted)
          context.log.warn({ err, webhook: webhookId }, 'webhook deliveries interrupted; retrying')
      })
      .finally(() => {
        running.delete(work)
        const isWokenAgain = active.get(webhookId)
        active.delete(webhookId)
        if (isWokenAgain) wake(tenantId, webhookId)
      })
    running.add(work)
  }

  return {
    wake,
    /** Sends what is due of a webhook, if anything is there. */
    wakeIfDue: async (tenantId: string, webhookId: string): Promise<void> => {
      const where = { queue: queuesUntil(webhookId, context.clock.now()) }
      const { items } = await deliveries().find(tenantId, { where, page: 1, size: 1 })
      if (items.length > 0) wake(tenantId, webhookId)
    },
    /** Disables a webhook whose receiver has failed while too many deliveries gathered. */
    limit: async (tenantId: string, { id, failing_since }: WebhookRecord): Promise<void> => {
      if (failing_since === undefined) return
      const where = { queue: queuesUntil(id, context.clock.now() + 2 * DAY) }
      const { total } = await deliveries().find(tenantId, { where, page: 1, size: 1 })
      if (total > MAX_PENDING) await disable(tenantId, id, 'too many events wait for its receiver')
    },
    /** Sends a delivery that is not stored, once. */
    once: async (
      tenantId: string,
      webhook: WebhookRecord,
      delivery: DeliveryRecord,
    ): Promise<DeliveryRecord> => {
      const sent = after(delivery, await post(tenantId, webhook, delivery.event), undefined)
      return { ...sent, attempts: 1 }
    },
    /** Sends a stored delivery again, once; its retries stay as they are. Undefined when it is gone. */
    again: async (tenantId: string, webhook: WebhookRecord, { id, event }: DeliveryRecord) => {
      const made = await post(tenantId, webhook, event)
      return deliveries().update(tenantId, id, (current) => {
        const attempts = current.attempts + 1
        return isAccepted(made)
          ? { ...after(current, made, undefined), attempts }
          : { ...current, last_attempt: made, attempts }
      })
    },
    settled: async (): Promise<void> => {
      await Promise.allSettled(running)
    },
  }
}

export type Sender = ReturnType<typeof createSender>
