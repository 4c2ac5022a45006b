import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { createMessages } from '../../../src/kernel/messages/create.ts'
import { hasPresence, type Item, type Shape } from '../../../src/kernel/messages/model.ts'
import { field, nullable, type Operation } from '../../../src/sdk/index.ts'

const operation = (rpc: string, input: TSchema, output: TSchema = Type.Object({}), http = `POST /${rpc}`) =>
  ({ rpc, http, summary: rpc, permission: 'any key', audit: 'none', input, output }) as unknown as Operation

const itemText = (item: Item): string => {
  if (item.kind === 'scalar') return item.type
  return item.kind === 'message' ? item.message.name : item.kind
}
const shapeText = (shape: Shape): string => {
  if (shape.kind === 'list') return `repeated ${itemText(shape.item)}`
  return shape.kind === 'map' ? `map ${itemText(shape.value)}` : itemText(shape)
}

/** The fields of `Things.Make`'s request, as `optional type` by name. */
const fieldsOf = (members: Record<string, TSchema>, http?: string) => {
  const { messages, issues } = createMessages([
    operation('Things.Make', Type.Object(members), undefined, http),
  ])
  t.same(issues, [])
  const { request } = messages.services[0]!.methods[0]!
  return Object.fromEntries(
    request.fields.map((each) => [
      each.name,
      `${hasPresence(request, each) ? 'optional ' : ''}${shapeText(each.shape)}`,
    ]),
  )
}

t.test('each schema maps to the closest proto3 type', async (t) => {
  const cases: readonly (readonly [string, TSchema, string])[] = [
    ['text', Type.String({ field: 1 }), 'optional string'],
    ['optional text', Type.Optional(Type.String({ field: 1 })), 'optional string'],
    ['a flag', Type.Boolean({ field: 1 }), 'optional bool'],
    ['a number', Type.Number({ field: 1 }), 'optional double'],
    ['a long', Type.Integer({ field: 1 }), 'optional int64'],
    ['a bounded integer', Type.Integer({ minimum: 1, maximum: 100, field: 1 }), 'optional int32'],
    ['an integer just too wide', Type.Integer({ maximum: 2 ** 31, field: 1 }), 'optional int64'],
    ['an enumeration of text', Type.Enum(['a', 'b'], { field: 1 }), 'optional string'],
    ['literals', Type.Union([Type.Literal('a'), Type.Literal('b')], { field: 1 }), 'optional string'],
    ['text or null', Type.Union([Type.String(), Type.Null()], { field: 1 }), 'optional string'],
    ['text or null, in one schema', nullable(1, Type.String()), 'optional string'],
    ['text or number', Type.Union([Type.String(), Type.Number()], { field: 1 }), 'value'],
    ['anything', Type.Unknown({ field: 1 }), 'value'],
    ['any JSON Schema', Type.Unsafe({ type: ['string', 'object'], field: 1 }), 'value'],
    ['texts', Type.Array(Type.String(), { field: 1 }), 'repeated string'],
    ['texts or null', nullable(1, Type.Array(Type.String())), 'repeated string'],
    [
      'texts with holes',
      Type.Array(Type.Union([Type.String(), Type.Null()]), { field: 1 }),
      'repeated value',
    ],
    ['lists of texts', Type.Array(Type.Array(Type.String()), { field: 1 }), 'repeated value'],
    ['things', Type.Array(Type.Object({}), { field: 1 }), 'repeated ThingsMakeRequestX'],
    ['a record', Type.Record(Type.String(), Type.String(), { field: 1 }), 'map string'],
    [
      'a record of things',
      Type.Record(Type.String(), Type.Object({}), { field: 1 }),
      'map ThingsMakeRequestX',
    ],
    [
      'a record with nulls',
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), { field: 1 }),
      'struct',
    ],
    ['a record of anything', Type.Record(Type.String(), Type.Unknown(), { field: 1 }), 'struct'],
    ['an object of anything', Type.Object({}, { additionalProperties: true, field: 1 }), 'struct'],
    ['an object', Type.Object({ y: Type.String({ field: 1 }) }, { field: 1 }), 'ThingsMakeRequestX'],
    ['an object or null', nullable(1, Type.Object({})), 'ThingsMakeRequestX'],
    [
      'one of two objects',
      Type.Union([Type.Object({ a: Type.String({ field: 1 }) }), Type.Object({})], { field: 1 }),
      'value',
    ],
  ]
  for (const [name, schema, wanted] of cases) t.equal(fieldsOf({ x: schema }).x, wanted, name)
})

t.test('requests can express null and empty exactly where HTTP can', async (t) => {
  const names = (members: Record<string, TSchema>, http: string) => Object.keys(fieldsOf(members, http))
  const list = Type.Optional(Type.Array(Type.String(), { field: 1 }))
  const orNull = nullable(1, Type.String())
  t.same(names({ x: list }, 'POST /a'), ['x', 'empty_members'])
  t.same(names({ x: list }, 'GET /a'), ['x'], 'a query has nothing empty')
  t.same(names({ x: Type.Array(Type.String(), { field: 1 }) }, 'POST /a'), ['x'], 'required: it is there')
  t.same(names({ x: orNull }, 'POST /a'), ['x'], 'null means absent')
  t.same(names({ x: orNull }, 'PATCH /a'), ['x', 'null_members'])
  t.same(names({ x: Type.Object({ y: list }, { field: 1 }) }, 'PUT /a'), ['x', 'empty_members'], 'inside')
  t.same(names({ x: nullable(1, Type.Array(Type.String())) }, 'PATCH /a'), [
    'x',
    'null_members',
    'empty_members',
  ])
})

t.test('a title names a message, which is one message wherever it is used', async (t) => {
  const Thing = Type.Object({ id: Type.String({ field: 1 }) }, { title: 'Thing' })
  const List = Type.Object({ data: Type.Array(Thing, { field: 1 }) })
  const { messages, issues } = createMessages([
    operation('Things.Get', Type.Object({}), Thing),
    operation('Things.List', Type.Object({}), List),
    operation('Others.Put', Type.Object({ thing: field(1, Thing) }), Thing),
  ])
  t.same(issues, [])
  t.same(
    messages.services.flatMap(({ methods }) => methods.map(({ response }) => response.name)),
    ['Thing', 'ThingsListResponse', 'Thing'],
  )
  const things = messages.messages.filter(({ name }) => name === 'Thing')
  t.equal(things.length, 1)
  t.same([...things[0]!.services], ['Things', 'Others'])
  t.ok(hasPresence(things[0]!, things[0]!.fields[0]!), 'sent by clients too, so unset differs from empty')
})

t.test('one title with two layouts, and reserved names and numbers, are issues', async (t) => {
  const thing = (number: number) => Type.Object({ id: Type.String({ field: number }) }, { title: 'Thing' })
  const issuesOf = (...operations: Operation[]) =>
    createMessages(operations).issues.map(({ rpc, problem }) => `${rpc}: ${problem}`)
  t.match(
    issuesOf(
      operation('A.Get', Type.Object({}), thing(1)),
      operation('A.List', Type.Object({ thing: field(1, thing(2)) })),
    ),
    [/^A\.List: its message "Thing" is not the one/],
  )
  t.match(issuesOf(operation('A.Get', Type.Object({}), Type.Object({}, { title: 'Problem' }))), [
    /"Problem" is not the one/,
  ])
  t.match(issuesOf(operation('A.Put', Type.Object({ null_members: Type.String({ field: 1 }) }))), [
    /"null_members" or a field 1000/,
  ])
  t.match(issuesOf(operation('A.Put', Type.Object({ x: Type.String({ field: 1001 }) }))), [/a field 1001/])
  t.match(issuesOf(operation('A.Put', Type.Object({ if_match: Type.String({ field: 1 }) }))), [
    /"if_match" or a field 1002/,
  ])
  t.same(issuesOf(operation('A.Put', Type.Object({}, { title: 'not a name' }))), [], 'a title for people')
})

t.test('changes of an entity that can be read have a condition', async (t) => {
  const id = Type.Object({ id: Type.String({ field: 1 }) })
  const { messages } = createMessages([
    operation('A.Get', id, undefined, 'GET /a/{id}'),
    operation('A.Update', id, undefined, 'PATCH /a/{id}'),
    operation('A.Delete', id, undefined, 'DELETE /a/{id}'),
    operation('A.Create', Type.Object({}), undefined, 'POST /a'),
    operation('A.Unread', id, undefined, 'DELETE /b/{id}'),
  ])
  const { methods } = messages.services[0]!
  t.same(
    methods
      .filter(({ request }) =>
        request.fields.some(({ name, number }) => name === 'if_match' && number === 1002),
      )
      .map(({ name }) => name),
    ['Update', 'Delete'],
  )
})
