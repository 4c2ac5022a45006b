import { destinationsInput, destinationsOutput, nullable, Type } from '#sdk'

/** Permissions of one grant (completions §9). */
const MAX_PERMISSIONS = 50

const Condition = Type.Object(
  {
    attribute: Type.Enum(['id', 'container'], { field: 1 }),
    operator: Type.Enum(['equals', 'starts_with'], { field: 2 }),
    value: Type.String({ minLength: 1, maxLength: 400, field: 3 }),
  },
  { title: 'Condition' },
)

const description = Type.String({ minLength: 1, maxLength: 1000, field: 1 })
const priority = Type.Integer({ minimum: 1, maximum: 2_147_483_647, field: 2 })
const transform = Type.Enum(['redact', 'mask', 'reveal'], { field: 5 })

/** An access rule of a session as it is sent (completions §4): `container`, or `conditions` that must all hold. */
export const RuleInput = Type.Object(
  {
    description,
    priority,
    container: nullable(3, Type.String({ pattern: '^/([A-Za-z0-9_-]+/)*$', maxLength: 400 })),
    conditions: nullable(4, Type.Array(Condition, { maxItems: 20 })),
    transform,
    permissions: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_PERMISSIONS, field: 6 }),
    destinations: destinationsInput(7),
  },
  { title: 'SessionRuleInput' },
)

/** A rule as it is stored: one of `container` and `conditions`. */
export const StoredRule = Type.Object({
  description: Type.String(),
  priority: Type.Integer(),
  container: Type.Optional(Type.String()),
  conditions: Type.Optional(Type.Array(Condition)),
  transform,
  permissions: Type.Array(Type.String()),
  destinations: destinationsOutput(7),
})

/** The interface's Create Session Response. */
export const SessionOutput = Type.Object(
  {
    session_key: Type.Optional(
      Type.String({
        field: 1,
        description:
          'The API key of the session; shown once and, with an idempotency key, again for ten minutes.',
      }),
    ),
    nonce: Type.Optional(
      Type.String({ field: 2, description: 'With it a private application authorizes the session.' }),
    ),
    expires_at: Type.String({ format: 'date-time', field: 3 }),
  },
  { title: 'Session' },
)

/** A session in lists, without its key. */
export const SessionInfo = Type.Object(
  {
    id: Type.String({ field: 1 }),
    application_id: Type.String({ field: 2, description: 'The public application that created it.' }),
    authorized_by: Type.Optional(
      Type.String({ field: 3, description: 'The private application that authorized it.' }),
    ),
    state: Type.Enum(['pending', 'authorized', 'ended'], {
      field: 4,
      description: 'ended: expired, or an application or key that it depends on is gone or may do less.',
    }),
    created_at: Type.String({ format: 'date-time', field: 5 }),
    authorized_at: Type.Optional(Type.String({ format: 'date-time', field: 6 })),
    expires_at: Type.String({ format: 'date-time', field: 7 }),
  },
  { title: 'SessionInfo' },
)

export const AuthorizeInput = Type.Object({
  nonce: Type.String({ minLength: 1, maxLength: 200, field: 1 }),
  permissions: nullable(2, Type.Array(Type.String(), { maxItems: MAX_PERMISSIONS })),
  rules: nullable(3, Type.Array(RuleInput, { maxItems: 100 })),
  expires_at: nullable(
    4,
    Type.String({ description: 'ISO 8601, at most 24 hours from now; default: 3 minutes after creation.' }),
  ),
})
