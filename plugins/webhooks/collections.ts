import { type Static, Type } from '#sdk'

/** A webhook as it is stored; times in ms since the epoch. */
export const Webhooks = {
  name: 'webhooks',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.String()),
    status: Type.Enum(['enabled', 'disabled']),
    include_metadata: Type.Boolean(),
    secret: Type.String(),
    /** Signs beside `secret` until `previous_until`. */
    previous_secret: Type.Optional(Type.String()),
    previous_until: Type.Optional(Type.Integer()),
    /** Of the first attempt after which none succeeded. */
    failing_since: Type.Optional(Type.Integer()),
    /** One of the places that a tenant has for webhooks. */
    place: Type.String(),
    created_by: Type.String(),
    created_at: Type.Integer(),
    modified_by: Type.Optional(Type.String()),
    modified_at: Type.Optional(Type.Integer()),
  }),
  unique: ['place'],
  sealed: ['url', 'secret', 'previous_secret'],
} as const

/** An event for one webhook, under an id that follows from both. */
export const Deliveries = {
  name: 'webhook_deliveries',
  schema: Type.Object({
    id: Type.String(),
    webhook_id: Type.String(),
    event: Type.Unsafe<WebhookEvent>(Type.Unknown()),
    status: Type.Enum(['pending', 'delivered', 'failed']),
    /** Started attempts. */
    attempts: Type.Integer(),
    /** Time of the next attempt. */
    due: Type.Integer(),
    /** The webhook's id and the hour of `due`; absent unless it is pending. */
    queue: Type.Optional(Type.String()),
    last_attempt: Type.Optional(
      Type.Object({
        at: Type.Integer(),
        /** Status of the receiver's response. */
        status: Type.Optional(Type.Integer()),
        /** Error code of an attempt without a response. */
        error: Type.Optional(Type.String()),
      }),
    ),
    created_at: Type.Integer(),
    expires_at: Type.Integer(),
  }),
  indexes: ['webhook_id', 'queue'],
  sealed: ['event'],
  expires: 'expires_at',
} as const

/** The `event` of a request to a receiver. Holds no data of tokens. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly tenant_id: string
  readonly trace_id: string
  /** The entity, under its name, and the actor. */
  readonly data: Readonly<Record<string, object>> & {
    readonly actor: { readonly id: string | null; readonly type: string }
  }
}

export type WebhookRecord = Static<(typeof Webhooks)['schema']>
export type DeliveryRecord = Static<(typeof Deliveries)['schema']>
