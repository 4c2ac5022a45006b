import { isoTime, nullable, offsetQuery, type Static, Type } from '#sdk'
import type { DeliveryRecord, WebhookRecord } from './collections.ts'

const STATUSES = ['enabled', 'disabled'] as const

const name = { minLength: 1, maxLength: 200 }
const url = { maxLength: 400, description: 'An https:// URL, without user information.' }
const events = { minItems: 1, maxItems: 200, description: 'See GET /webhooks/event-types.' }
const eventType = Type.String({ maxLength: 200 })
const status = (field: number, description: string) =>
  Type.Optional(
    Type.Unsafe<(typeof STATUSES)[number] | null>({ enum: [...STATUSES, null], field, description }),
  )
const metadata = Type.Boolean({
  description: 'Events about tokens hold their metadata. Needs the permissions to manage applications.',
})

/** An id of a route. */
const id = (field: number) => Type.String({ maxLength: 100, field })

export const WebhookInput = Type.Object({
  name: Type.String({ ...name, field: 1 }),
  url: Type.String({ ...url, field: 2 }),
  events: Type.Array(eventType, { ...events, field: 3 }),
  status: status(4, 'Default: enabled.'),
  include_metadata: nullable(5, metadata),
})

export const WebhookUpdate = Type.Object({
  id: id(1),
  name: Type.String({ ...name, field: 2 }),
  url: Type.String({ ...url, field: 3 }),
  events: Type.Array(eventType, { ...events, field: 4 }),
  status: status(5, 'Absent: it stays as it is.'),
  include_metadata: nullable(6, metadata),
})

export const WebhookQuery = Type.Object({
  ...offsetQuery,
  id: Type.Optional(Type.Array(Type.String(), { field: 3 })),
  name: Type.Optional(
    Type.String({ maxLength: 200, field: 4, description: 'Wildcards * and ?; else contains.' }),
  ),
})

export const WebhookId = Type.Object({ id: id(1) })

export const DeliveryId = Type.Object({ id: id(1), delivery_id: id(2) })

const time = (field: number) => Type.String({ format: 'date-time', field })

const webhookMembers = {
  id: Type.String({ field: 1 }),
  tenant_id: Type.String({ field: 2 }),
  name: Type.String({ field: 3 }),
  url: Type.String({ field: 4 }),
  events: Type.Array(Type.String(), { field: 5 }),
  status: Type.Enum(STATUSES, { field: 6 }),
  include_metadata: Type.Boolean({ field: 7 }),
  failing_since: Type.Optional(time(8)),
  created_by: Type.String({ field: 9 }),
  created_at: time(10),
  modified_by: Type.Optional(Type.String({ field: 11 })),
  modified_at: Type.Optional(time(12)),
}

export const WebhookOutput = Type.Object(webhookMembers, { title: 'Webhook' })

export const WebhookWithSecret = Type.Object(
  {
    ...webhookMembers,
    secret: Type.String({ field: 13, description: 'Signs its requests. Returned here only.' }),
  },
  { title: 'WebhookWithSecret' },
)

export const DeliveryOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    webhook_id: Type.String({ field: 2 }),
    event_id: Type.String({ field: 3 }),
    event_type: Type.String({ field: 4 }),
    status: Type.Enum(['pending', 'delivered', 'failed'], { field: 5 }),
    attempts: Type.Integer({ field: 6 }),
    next_attempt_at: Type.Optional(time(7)),
    last_attempt: Type.Optional(
      Type.Object(
        {
          at: time(1),
          status: Type.Optional(Type.Integer({ field: 2, description: 'Status of the response.' })),
          error: Type.Optional(Type.String({ field: 3, description: 'Error code without a response.' })),
        },
        { title: 'DeliveryAttempt', field: 8 },
      ),
    ),
    created_at: time(9),
  },
  { title: 'WebhookDelivery' },
)

export const EventTypeList = Type.Object({
  event_types: Type.Array(Type.Object({ value: Type.String({ field: 1 }) }, { title: 'WebhookEventType' }), {
    field: 1,
  }),
})

export const webhookOutput = (tenantId: string, webhook: WebhookRecord): Static<typeof WebhookOutput> => ({
  id: webhook.id,
  tenant_id: tenantId,
  name: webhook.name,
  url: webhook.url,
  events: [...webhook.events],
  status: webhook.status,
  include_metadata: webhook.include_metadata,
  ...(webhook.failing_since === undefined ? {} : { failing_since: isoTime(webhook.failing_since) }),
  created_by: webhook.created_by,
  created_at: isoTime(webhook.created_at),
  ...(webhook.modified_by === undefined ? {} : { modified_by: webhook.modified_by }),
  ...(webhook.modified_at === undefined ? {} : { modified_at: isoTime(webhook.modified_at) }),
})

export const deliveryOutput = (delivery: DeliveryRecord): Static<typeof DeliveryOutput> => ({
  id: delivery.id,
  webhook_id: delivery.webhook_id,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  status: delivery.status,
  attempts: delivery.attempts,
  ...(delivery.status === 'pending' ? { next_attempt_at: isoTime(delivery.due) } : {}),
  ...(delivery.last_attempt === undefined
    ? {}
    : { last_attempt: { ...delivery.last_attempt, at: isoTime(delivery.last_attempt.at) } }),
  created_at: isoTime(delivery.created_at),
})
