import { destinationsOutput, field, nullable, Type } from '#sdk'
import { ApplicationTypes } from './schemas.ts'

const Level = Type.Enum(['reveal', 'mask', 'redact'])
const LevelOrNone = Type.Enum(['none', 'redact', 'mask', 'reveal'])

const DecidingRule = Type.Object(
  {
    description: Type.Optional(Type.String({ field: 1 })),
    priority: Type.Integer({ field: 2 }),
    container: Type.Optional(Type.String({ field: 3 })),
    transform: field(4, Level),
    conditions: Type.Optional(
      Type.Array(
        Type.Object(
          {
            attribute: Type.String({ field: 1 }),
            operator: Type.String({ field: 2 }),
            value: Type.String({ field: 3 }),
          },
          { title: 'DecidingCondition' },
        ),
        { field: 5, description: "Of a session's rule, in place of the container." },
      ),
    ),
    destinations: destinationsOutput(6),
  },
  { title: 'DecidingRule' },
)

/** A way in which a token can be used or seen (completions §16). */
export const AccessEntry = Type.Object(
  {
    application: Type.Object(
      {
        id: Type.String({ field: 1 }),
        name: Type.String({ field: 2 }),
        type: field(3, ApplicationTypes),
      },
      { title: 'AccessApplication', field: 1 },
    ),
    permission: Type.String({ field: 2 }),
    disclosure: field(3, Level),
    rule: nullable(4, DecidingRule),
    through: Type.Optional(
      Type.Object(
        {
          type: Type.Enum(['session', 'proxy', 'reactor'], { field: 1 }),
          id: Type.String({ field: 2 }),
          name: Type.Optional(Type.String({ field: 3, description: 'Sessions have none.' })),
        },
        {
          title: 'AccessThrough',
          field: 5,
          description: 'Acts as the application; absent: a key of the application itself.',
        },
      ),
    ),
  },
  { title: 'AccessEntry' },
)

const AccessDiffLine = Type.Object(
  {
    container: Type.String({ field: 1 }),
    permission: Type.String({ field: 2 }),
    from: field(3, LevelOrNone),
    to: field(4, LevelOrNone),
    tokens: Type.Integer({ field: 5, description: 'At most 10,000.' }),
    exact: Type.Boolean({ field: 6, description: 'False: there may be more tokens.' }),
  },
  { title: 'AccessDiffLine' },
)

export const AccessDiff = Type.Object(
  {
    data: Type.Array(AccessDiffLine, { field: 1 }),
    more: Type.Optional(
      Type.Boolean({
        field: 2,
        description:
          'True: the comparison ended early, after 1,000 lines or 200,000 tokens; further containers may differ.',
      }),
    ),
  },
  { title: 'AccessDiff' },
)
