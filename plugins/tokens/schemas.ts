import type { Token } from '#sdk'
import { destinationsOutput, Type } from '#sdk'

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
      destinations: destinationsOutput(17),
      egress_only: Type.Optional(Type.Boolean({ field: 18 })),
      disclosure: Type.Optional(
        Type.Enum(['reveal', 'mask', 'redact'], {
          field: 19,
          description: 'When one token is read with `disclosure`: what the key sees without it.',
        }),
      ),
    },
    { title: 'Token' },
  ),
)
