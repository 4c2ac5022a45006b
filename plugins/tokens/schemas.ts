import { Type } from 'typebox'
import { orNull, type Token } from '#sdk'

/**
 * Inputs give the coarse shapes only; what a member may hold is checked by the vault, which knows the token's type.
 * Members that are set to null are absent.
 */
const strings = Type.Array(Type.String())
const texts = Type.Record(Type.String(), Type.String())

/** Members that a create and a PATCH share. */
const shared = {
  mask: Type.Optional(
    Type.Unknown({ field: 4, description: 'An expression, or JSON whose strings are expressions.' }),
  ),
  search_indexes: orNull(6, strings),
  fingerprint_expression: orNull(7, Type.String()),
  containers: orNull(8, strings),
  deduplicate_token: orNull(9, Type.Boolean()),
  expires_at: orNull(10, Type.String()),
}

/** Token (request definition) of the interface with the additions of completions §5. */
export const TokenCreate = Type.Object({
  id: orNull(1, Type.String({ description: 'An id, or an alias expression over data. Default: a UUID.' })),
  type: orNull(2, Type.String()),
  data: Type.Unknown({ field: 3, description: 'The sensitive value.' }),
  metadata: orNull(5, texts),
  ...shared,
})

/** A JSON merge patch (RFC 7386) of a token; `id` is the path's. */
export const TokenPatchInput = Type.Object({
  id: Type.String({ field: 1 }),
  data: Type.Optional(Type.Unknown({ field: 3 })),
  metadata: orNull(5, Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]))),
  ...shared,
})

/** A token as one caller sees it: `data` follows the disclosure, `mask` is the stored expression. */
export const TokenOutput = Type.Unsafe<Token>(
  Type.Object(
    {
      id: Type.String({ field: 1 }),
      tenant_id: Type.String({ field: 2 }),
      type: Type.String({ field: 3 }),
      data: Type.Optional(Type.Unknown({ field: 4 })),
      mask: Type.Optional(Type.Unknown({ field: 5 })),
      metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { field: 6 })),
      search_indexes: Type.Optional(Type.Array(Type.String(), { field: 7 })),
      fingerprint: Type.Optional(Type.String({ field: 8 })),
      fingerprint_expression: Type.Optional(Type.String({ field: 9 })),
      containers: Type.Array(Type.String(), { field: 10 }),
      privacy: Type.Object(
        {
          classification: Type.String({ field: 1 }),
          impact_level: Type.String({ field: 2 }),
          restriction_policy: Type.String({ field: 3 }),
        },
        { field: 11, title: 'Privacy' },
      ),
      expires_at: Type.Optional(Type.String({ format: 'date-time', field: 12 })),
      created_by: Type.String({ field: 13 }),
      created_at: Type.String({ format: 'date-time', field: 14 }),
      modified_by: Type.Optional(Type.String({ field: 15 })),
      modified_at: Type.Optional(Type.String({ format: 'date-time', field: 16 })),
    },
    { title: 'Token' },
  ),
)
