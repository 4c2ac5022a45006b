import { LRUCache } from 'lru-cache'
import { AppError, type LogEntry, type PluginContext } from '#sdk'
import { Deliveries, type DeliveryRecord, type WebhookRecord, Webhooks } from './collections.ts'
import { newDelivery, type Sender } from './delivery.ts'
import type { EventTypes } from './event-types.ts'
import { eventOf, idOf } from './events.ts'

/** Tenants whose webhooks are cached, and for how long, ms: shorter than the lease of a consumer. */
const CACHED = 10_000
const CACHED_MS = 10_000
/** Deliveries of one commit, and tokens of one read. */
const COMMIT = 100
const TOKENS = 100

type Metadata = ReadonlyMap<string, Readonly<Record<string, string>>>

/** An event for a webhook. */
interface Match {
  readonly webhook: WebhookRecord
  readonly entry: LogEntry
  readonly type: string
}

const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )

/** Makes deliveries of audit records. `types`: known when all plugins are there. */
export const createSubscriptions = (
  context: PluginContext,
  { types, sender }: { readonly types: () => EventTypes; readonly sender: Sender },
) => {
  const deliveries = () => context.records(Deliveries)
  const cache = new LRUCache<string, readonly WebhookRecord[]>({ max: CACHED, ttl: CACHED_MS })

  const webhooksOf = async (tenantId: string): Promise<readonly WebhookRecord[]> => {
    const cached = cache.get(tenantId)
    if (cached !== undefined) return cached
    const { items } = await context.records(Webhooks).find(tenantId)
    cache.set(tenantId, items)
    return items
  }

  const matchesOf = async (tenantId: string, entries: readonly LogEntry[]): Promise<readonly Match[]> => {
    const matches: Match[] = []
    for (const entry of entries) {
      // A changed webhook is stored before the record of its change.
      if (entry.entity_type === 'webhook') cache.delete(tenantId)
      const webhooks = await webhooksOf(tenantId)
      // What was read for events is no event.
      if (
        webhooks.length === 0 ||
        webhooks.some(({ id }) => id === entry.actor_id && entry.operation === 'read')
      )
        continue
      const type = types().of(entry)
      for (const webhook of webhooks)
        if (webhook.status === 'enabled' && webhook.events.includes(type))
          matches.push({ webhook, entry, type })
    }
    return matches
  }

  /** Metadata of the tokens that webhooks want it of; without those that are gone. */
  const metadataOf = async (tenantId: string, matches: readonly Match[]): Promise<Metadata> => {
    const wanted = matches.filter(
      ({ webhook, entry }) =>
        webhook.include_metadata && entry.entity_id !== '' && types().isToken(entry.entity_type),
    )
    const [first] = wanted
    if (first === undefined) return new Map()
    const ids = [...new Set(wanted.map(({ entry }) => entry.entity_id))]
    const caller = {
      ...{ tenantId, actorId: first.webhook.id, actorType: 'application' as const },
      grants: { permissions: ['token:read'], rules: [] },
    }
    const found = new Map<string, Readonly<Record<string, string>>>()
    for (const chunk of chunksOf(ids, TOKENS)) {
      const read = {
        caller,
        traceId: first.entry.trace_id,
        now: context.clock.now(),
        maxDisclosure: 'redact',
      } as const
      const page = await context.vault.list({ ids: chunk }, { kind: 'cursor', size: TOKENS }, read)
      for (const { id, metadata } of page.data) if (metadata !== undefined) found.set(id, metadata)
    }
    return found
  }

  /** Stores deliveries that are not stored yet. */
  const insert = async (tenantId: string, records: readonly DeliveryRecord[]): Promise<void> => {
    try {
      await context.commit(records.map((record) => deliveries().insertMutation(tenantId, record)))
    } catch (thrown) {
      if ((await context.tenants.get(tenantId)) === undefined) return
      if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
      if (records.length > 1) for (const record of records) await insert(tenantId, [record])
    }
  }

  const handleTenant = async (tenantId: string, entries: readonly LogEntry[]): Promise<void> => {
    const matches = await matchesOf(tenantId, entries)
    if (matches.length === 0) return
    const metadata = await metadataOf(tenantId, matches)
    const now = context.clock.now()
    const records = matches.map(({ webhook, entry, type }) => {
      const isToken = types().isToken(entry.entity_type)
      const known = webhook.include_metadata && isToken ? metadata.get(entry.entity_id) : undefined
      const event = eventOf(entry, { type, isToken }, known)
      return newDelivery(idOf(event.id, webhook.id), { webhook, event, now })
    })
    for (const chunk of chunksOf(records, COMMIT)) await insert(tenantId, chunk)
    const webhooks = new Map(matches.map(({ webhook }) => [webhook.id, webhook]))
    for (const webhook of webhooks.values()) {
      await sender.limit(tenantId, webhook)
      // Others wait for the job: what is due of them is much.
      if (webhook.failing_since === undefined) sender.wake(tenantId, webhook.id)
    }
  }

  /** Stores what the records are for webhooks, and starts to send it. */
  return async (records: readonly LogEntry[], signal: AbortSignal): Promise<void> => {
    const byTenant = Map.groupBy(records, ({ tenant_id }) => tenant_id)
    for (const [tenantId, entries] of byTenant) {
      signal.throwIfAborted()
      if (tenantId !== '') await handleTenant(tenantId, entries)
    }
  }
}
