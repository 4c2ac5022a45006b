import t from 'tap'
import { Type as TypeBox } from 'typebox'
import { Type } from '../../src/common/json-schema.ts'

/** The same schemas by either. */
const schemas = (from: typeof Type) => {
  const text = from.String({ description: 'a text', minLength: 1, field: 3 })
  return {
    array: from.Array(text, { maxItems: 3 }),
    boolean: from.Boolean({ default: false }),
    enum: from.Enum(['a', 'b'], { description: 'one of two' }),
    integer: from.Integer({ minimum: 1 }),
    literals: [from.Literal('a', { description: 'only this' }), from.Literal(3), from.Literal(true)],
    number: from.Number(),
    object: from.Object(
      { a: text, b: from.Optional(from.Integer()), c: from.Optional(from.Object({ d: text })) },
      { additionalProperties: false },
    ),
    noneRequired: from.Object({ a: from.Optional(text) }),
    empty: from.Object({}),
    spread: from.Object({ a: { ...from.Optional(text) } }),
    partial: from.Partial(from.Object({ a: text, b: from.Integer() })),
    required: from.Object({ a: from.Partial(from.Object({ a: text })) }),
    record: from.Record(from.String(), text, { maxProperties: 3 }),
    recordOfNames: from.Record(from.String({ pattern: '^a' }), from.Unknown()),
    union: from.Union([text, from.Literal('x')], { description: 'either' }),
    unknown: from.Unknown({ description: 'anything' }),
    unsafe: from.Object({
      a: from.Unsafe<string>({ type: 'string' }),
      b: from.Optional(from.Unsafe<string>({ type: 'string' })),
      c: from.Unsafe<string>(from.Optional(text)),
    }),
  }
}

t.test('schemas are the same as those of TypeBox, in the order of their members', async (t) => {
  const [ours, theirs] = [schemas(Type), schemas(TypeBox)]
  for (const name of Object.keys(theirs) as (keyof typeof theirs)[])
    t.equal(JSON.stringify(ours[name]), JSON.stringify(theirs[name]), name)
})

t.test(
  'an optional schema of TypeBox is optional in an object of ours, and the other way round',
  async (t) => {
    t.same(Type.Object({ a: TypeBox.Optional(TypeBox.String()) }).required, undefined)
    t.same(TypeBox.Object({ a: Type.Optional(Type.String()) }).required, undefined)
  },
)
