import {
  AppError,
  cursorPage,
  cursorQuery,
  defineOperation,
  Empty,
  isoTime,
  listOf,
  newId,
  offsetPage,
  PAGE_SIZE,
  type PluginContext,
  pageOf,
  Type,
} from '#sdk'
import { Deliveries, type WebhookRecord, Webhooks } from './collections.ts'
import { newDelivery, type Sender } from './delivery.ts'
import type { EventTypes } from './event-types.ts'
import * as examples from './examples.ts'
import { parseWebhook } from './input.ts'
import {
  DeliveryId,
  DeliveryOutput,
  deliveryOutput,
  EventTypeList,
  WebhookId,
  WebhookInput,
  WebhookOutput,
  WebhookQuery,
  WebhookUpdate,
  WebhookWithSecret,
  webhookOutput,
} from './schemas.ts'
import { newSecret } from './sign.ts'

/** ms for which a replaced secret signs beside the new one. */
const BOTH_SECRETS = 24 * 60 * 60 * 1_000

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Other text is not repeated: callers send keys and values as ids. */
const notFound = (code: 'webhook_not_found' | 'delivery_not_found', id: string) => {
  const entity = code === 'webhook_not_found' ? 'Webhook' : 'Delivery'
  return new AppError(
    code,
    UUID.test(id) ? `${entity} "${id}" does not exist.` : `${entity} does not exist: its id is not a UUID.`,
  )
}

/** Operations on webhooks and their deliveries (completions §19). */
export const webhookOperations = (
  context: PluginContext,
  {
    types,
    sender,
    max,
  }: {
    readonly types: () => EventTypes
    readonly sender: Sender
    /** Webhooks of a tenant. */
    readonly max: number
  },
) => {
  const places = Array.from({ length: max }, (_, index) => String(index))
  const webhooks = () => context.records(Webhooks)
  const deliveries = () => context.records(Deliveries)

  const get = async (tenantId: string, id: string): Promise<WebhookRecord> => {
    const webhook = await webhooks().get(tenantId, id)
    if (webhook === undefined) throw notFound('webhook_not_found', id)
    return webhook
  }

  /** Stores a webhook in a place that no other has, also when others are created concurrently. */
  const insert = async (tenantId: string, webhook: Omit<WebhookRecord, 'place'>): Promise<WebhookRecord> => {
    for (;;) {
      const { items } = await webhooks().find(tenantId)
      const place = places.find((candidate) => items.every((other) => other.place !== candidate))
      if (place === undefined)
        throw new AppError(
          'unprocessable',
          `The tenant has ${max} webhooks, which is the maximum. Delete one, or add events to one.`,
        )
      try {
        await webhooks().insert(tenantId, { ...webhook, place })
        return { ...webhook, place }
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
      }
    }
  }

  return [
    defineOperation({
      rpc: 'Webhooks.Create',
      http: 'POST /webhooks',
      summary: 'Create a webhook: events are posted to its URL',
      permission: 'webhook:create',
      audit: { entity: 'webhook', verb: 'create' },
      input: WebhookInput,
      output: WebhookWithSecret,
      status: 201,
      location: ({ id }) => `/webhooks/${id}`,
      transient: ['secret'],
      errors: ['unprocessable'],
      examples: examples.create,
      run: async (input, { caller, now }) => {
        const members = await parseWebhook(context, types(), caller, input)
        const webhook = await insert(caller.tenantId, {
          ...members,
          id: newId(),
          status: input.status ?? 'enabled',
          secret: newSecret(),
          created_by: caller.actorId,
          created_at: now,
        })
        return { ...webhookOutput(caller.tenantId, webhook), secret: webhook.secret }
      },
    }),
    defineOperation({
      rpc: 'Webhooks.List',
      http: 'GET /webhooks',
      summary: 'List webhooks',
      permission: 'webhook:read',
      audit: 'none',
      input: WebhookQuery,
      output: listOf(WebhookOutput),
      examples: examples.list,
      run: async (input, { caller: { tenantId } }) => {
        const { id, name } = input
        const page = pageOf(input)
        const { items, total } = await webhooks().find(tenantId, {
          ...page,
          ...(id?.length ? { ids: id } : {}),
          ...(name ? { name } : {}),
        })
        return offsetPage(
          items.map((webhook) => webhookOutput(tenantId, webhook)),
          total,
          page,
        )
      },
    }),
    defineOperation({
      rpc: 'Webhooks.ListEventTypes',
      http: 'GET /webhooks/event-types',
      summary: 'List the types of events',
      permission: 'webhook:read',
      audit: 'none',
      input: Type.Object({}),
      output: EventTypeList,
      responseBody: 'event_types',
      examples: examples.eventTypes,
      run: async () => ({
        event_types: types()
          .all()
          .map((value) => ({ value })),
      }),
    }),
    defineOperation({
      rpc: 'Webhooks.Get',
      http: 'GET /webhooks/{id}',
      summary: 'Get a webhook',
      permission: 'webhook:read',
      audit: 'none',
      input: WebhookId,
      output: WebhookOutput,
      examples: examples.get,
      run: async ({ id }, { caller: { tenantId } }) => webhookOutput(tenantId, await get(tenantId, id)),
    }),
    defineOperation({
      rpc: 'Webhooks.Update',
      http: 'PUT /webhooks/{id}',
      summary: 'Replace a webhook',
      permission: 'webhook:update',
      audit: { entity: 'webhook', verb: 'update' },
      input: WebhookUpdate,
      output: WebhookOutput,
      examples: examples.update,
      run: async ({ id, ...input }, { caller, now }) => {
        const { tenantId, actorId } = caller
        const { include_metadata } = await get(tenantId, id)
        const members = await parseWebhook(context, types(), caller, input, include_metadata)
        const webhook = await webhooks().update(tenantId, id, ({ failing_since, ...current }) => {
          const status = input.status ?? current.status
          const isEnabled = status === 'enabled' && current.status === 'disabled'
          return {
            ...current,
            ...(failing_since === undefined || isEnabled ? {} : { failing_since }),
            ...members,
            status,
            modified_by: actorId,
            modified_at: now,
          }
        })
        if (webhook === undefined) throw notFound('webhook_not_found', id)
        sender.wake(tenantId, id)
        return webhookOutput(tenantId, webhook)
      },
    }),
    defineOperation({
      rpc: 'Webhooks.Delete',
      http: 'DELETE /webhooks/{id}',
      summary: 'Delete a webhook, and what waits for it',
      permission: 'webhook:delete',
      audit: { entity: 'webhook', verb: 'delete' },
      input: WebhookId,
      output: Empty,
      status: 204,
      examples: examples.remove,
      run: async ({ id }, { caller: { tenantId } }) => {
        if (!(await webhooks().delete(tenantId, id))) throw notFound('webhook_not_found', id)
        return {}
      },
    }),
    defineOperation({
      rpc: 'Webhooks.RotateSecret',
      http: 'POST /webhooks/{id}/rotate-secret',
      summary: 'Replace the secret of a webhook; the old one signs beside it for 24 hours',
      permission: 'webhook:update',
      audit: { entity: 'webhook', verb: 'update', message: 'Webhook secret replaced' },
      input: WebhookId,
      output: WebhookWithSecret,
      transient: ['secret'],
      examples: examples.rotate,
      run: async ({ id }, { caller: { tenantId, actorId }, now }) => {
        const secret = newSecret()
        const webhook = await webhooks().update(tenantId, id, (current) => ({
          ...current,
          secret,
          previous_secret: current.secret,
          previous_until: now + BOTH_SECRETS,
          modified_by: actorId,
          modified_at: now,
        }))
        if (webhook === undefined) throw notFound('webhook_not_found', id)
        return { ...webhookOutput(tenantId, webhook), secret }
      },
    }),
    defineOperation({
      rpc: 'Webhooks.Ping',
      http: 'POST /webhooks/{id}/ping',
      summary: 'Send one event of the type webhook.pinged, without retries',
      permission: 'webhook:update',
      audit: {
        entity: 'webhook',
        verb: 'use',
        message: 'Webhook pinged',
        id: (_, input) => (input as { id: string }).id,
      },
      input: WebhookId,
      output: DeliveryOutput,
      examples: examples.ping,
      run: async ({ id }, { caller, now, traceId }) => {
        const { tenantId, actorId, actorType } = caller
        const webhook = await get(tenantId, id)
        const data = { webhook: { id }, actor: { id: actorId, type: actorType } }
        const timestamp = isoTime(now)
        const event = {
          ...{ id: newId(), type: 'webhook.pinged', timestamp },
          ...{ tenant_id: tenantId, trace_id: traceId, data },
        }
        const delivery = await sender.once(tenantId, webhook, newDelivery(newId(), { webhook, event, now }))
        await deliveries().insert(tenantId, delivery)
        return deliveryOutput(delivery)
      },
    }),
    defineOperation({
      rpc: 'Webhooks.ListDeliveries',
      http: 'GET /webhooks/{id}/deliveries',
      summary: 'List the deliveries of a webhook of the last seven days, newest first',
      permission: 'webhook:read',
      audit: 'none',
      input: Type.Object({ ...cursorQuery, id: Type.String({ maxLength: 100, field: 3 }) }),
      output: listOf(DeliveryOutput),
      examples: examples.listDeliveries,
      run: async ({ id, start, size = PAGE_SIZE.default }, { caller: { tenantId } }) => {
        const where = { webhook_id: id }
        const page = await deliveries().find(tenantId, { where, size, ...(start ? { start } : {}) })
        await get(tenantId, id)
        return cursorPage(page.items.map(deliveryOutput), size, page.next)
      },
    }),
    defineOperation({
      rpc: 'Webhooks.Redeliver',
      http: 'POST /webhooks/{id}/deliveries/{delivery_id}/redeliver',
      summary: 'Send a delivery again at once; its retries stay as they are',
      permission: 'webhook:update',
      audit: {
        entity: 'webhook',
        verb: 'use',
        message: 'Webhook delivery sent again',
        id: (_, input) => (input as { id: string }).id,
      },
      input: DeliveryId,
      output: DeliveryOutput,
      examples: examples.redeliver,
      run: async ({ id, delivery_id }, { caller: { tenantId } }) => {
        const webhook = await get(tenantId, id)
        const delivery = await deliveries().get(tenantId, delivery_id)
        if (delivery?.webhook_id !== id) throw notFound('delivery_not_found', delivery_id)
        const sent = await sender.again(tenantId, webhook, delivery)
        if (sent === undefined) throw notFound('delivery_not_found', delivery_id)
        return deliveryOutput(sent)
      },
    }),
  ]
}
