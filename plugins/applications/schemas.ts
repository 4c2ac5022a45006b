import { guardInput, guardOutput } from '#kit'
import { destinationsInput, destinationsOutput, field, nullable, Type } from '#sdk'

export const ApplicationTypes = Type.Enum(['public', 'private', 'management'])

const Transform = Type.Enum(['redact', 'mask', 'reveal'], { field: 5 })

const rulePermissions = Type.Array(Type.String(), { minItems: 1, maxItems: 50, field: 6 })

/**
 * An access rule as a caller sends it (completions §4). Whether `container` or `conditions` may stand is checked apart.
 */
export const RuleInput = Type.Object(
  {
    description: Type.String({ minLength: 1, maxLength: 1000, field: 1 }),
    priority: Type.Integer({ minimum: 1, maximum: 2_147_483_647, field: 2 }),
    container: nullable(3, Type.String({ pattern: '^/([A-Za-z0-9_-]+/)*$', maxLength: 400 })),
    conditions: nullable(4, Type.Array(Type.Unknown())),
    transform: Transform,
    permissions: rulePermissions,
    destinations: destinationsInput(7),
  },
  { title: 'AccessRuleInput' },
)

/** An access rule as it is stored and returned. */
export const StoredRule = Type.Object(
  {
    description: Type.String({ field: 1 }),
    priority: Type.Integer({ field: 2 }),
    container: Type.String({ field: 3 }),
    transform: Transform,
    permissions: Type.Array(Type.String(), { field: 6 }),
    destinations: destinationsOutput(7),
  },
  { title: 'AccessRule' },
)

const name = Type.String({ minLength: 1, maxLength: 200, field: 2 })
const permissions = nullable(4, Type.Array(Type.String(), { maxItems: 100 }))
const rules = nullable(5, Type.Array(RuleInput, { maxItems: 100 }))

const originsInput = (field: number) =>
  nullable(
    field,
    Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 20,
      description:
        'Origins of pages that may call with its keys and sessions, such as https://shop.example; or * alone, with no other permission than token:create. Public applications only.',
    }),
  )

export const ApplicationCreate = Type.Object({
  name,
  type: field(3, ApplicationTypes),
  permissions,
  rules,
  create_key: nullable(6, Type.Boolean({ default: true })),
  expires_at: nullable(7, Type.String({ description: 'ISO 8601; its keys stop working then.' })),
  destinations: destinationsInput(8),
  response_guard: guardInput(9),
  allowed_origins: originsInput(10),
})

/** `type` may be sent, but not changed. */
export const ApplicationUpdate = Type.Object({
  id: Type.String({ field: 1 }),
  name,
  type: nullable(3, Type.String()),
  permissions,
  rules,
  destinations: destinationsInput(6),
  response_guard: guardInput(7),
  allowed_origins: originsInput(8),
})

export const ApplicationOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    tenant_id: Type.String({ field: 2 }),
    name: Type.String({ field: 3 }),
    type: field(4, ApplicationTypes),
    permissions: Type.Array(Type.String(), { field: 5 }),
    rules: Type.Array(StoredRule, { field: 6 }),
    key: Type.Optional(Type.String({ field: 7, description: 'The new key. It is shown once.' })),
    expires_at: Type.Optional(Type.String({ format: 'date-time', field: 8 })),
    created_by: Type.String({ field: 9 }),
    created_at: Type.String({ format: 'date-time', field: 10 }),
    modified_by: Type.Optional(Type.String({ field: 11 })),
    modified_at: Type.Optional(Type.String({ format: 'date-time', field: 12 })),
    destinations: destinationsOutput(13),
    response_guard: guardOutput(14),
    allowed_origins: Type.Optional(Type.Array(Type.String(), { field: 15 })),
  },
  { title: 'Application' },
)

const keyMembers = {
  id: Type.String({ field: 1 }),
  version: Type.String({ field: 3, description: 'Counts the keys that the application ever had.' }),
  created_by: Type.String({ field: 4 }),
  created_at: Type.String({ format: 'date-time', field: 5 }),
  expires_at: Type.Optional(
    Type.String({
      format: 'date-time',
      field: 7,
      description: 'Of a key for one run of a command (`sidevault run`), which renews it.',
    }),
  ),
}

export const KeyOutput = Type.Object(keyMembers, { title: 'ApplicationKey' })

export const NewKeyOutput = Type.Object(
  {
    ...keyMembers,
    key: Type.Optional(
      Type.String({
        field: 2,
        description:
          'The key. It is shown once and, with an idempotency key, in repetitions for ten minutes.',
      }),
    ),
    application_id: Type.String({ field: 6 }),
  },
  { title: 'NewApplicationKey' },
)
