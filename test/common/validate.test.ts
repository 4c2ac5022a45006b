import t from 'tap'
import { Type } from 'typebox'
import { compileValidator } from '../../src/common/validate.ts'

const errorsOf = (schema: unknown, value: unknown) => compileValidator(schema)(value)?.errors

t.test('all issues are reported at once, as messages by property path', async (t) => {
  const schema = Type.Object({
    name: Type.String({ minLength: 1, maxLength: 5 }),
    data: Type.Object({ number: Type.String({ pattern: '^[0-9]+$' }) }),
    rules: Type.Array(Type.Object({ priority: Type.Integer({ minimum: 1 }) }), { maxItems: 2 }),
    type: Type.Union([Type.Literal('public'), Type.Literal('private')]),
    when: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    kind: Type.Enum(['a', 'b']),
  })
  t.strictSame(
    errorsOf(schema, {
      name: 'too long',
      data: {},
      rules: [{ priority: 0 }, {}, { priority: 'x' }],
      type: 'other',
      when: 5,
      kind: 'c',
    }),
    {
      name: ['must have at most 5 characters'],
      'data.number': ['is required'],
      rules: ['must have at most 2 items'],
      'rules[0].priority': ['must be at least 1'],
      'rules[1].priority': ['is required'],
      'rules[2].priority': ['must be an integer'],
      type: ['must be "public" or "private"'],
      when: ['must be a string or null'],
      kind: ['must be one of "a", "b"'],
    },
  )
})

t.test('messages never hold the value', async (t) => {
  const secret = '4242424242424242'
  const schema = Type.Object({
    a: Type.Integer(),
    b: Type.String({ maxLength: 3 }),
    c: Type.String({ pattern: '^x$' }),
    d: Type.String({ format: 'date-time' }),
    e: Type.Union([Type.Literal('x'), Type.Null()]),
  })
  const error = compileValidator(schema)({ a: secret, b: secret, c: secret, d: secret, e: secret })
  t.equal(Object.keys(error?.errors ?? {}).length, 5)
  t.notOk(JSON.stringify(error?.toProblem()).includes(secret))
})

t.test('an asynchronous schema does not compile: its promise would pass for "valid"', async (t) => {
  t.throws(() => compileValidator({ $async: true, type: 'string' }), { message: '"$async" is not supported' })
})

t.test('a value of the wrong type is reported as the body', async (t) => {
  t.strictSame(errorsOf(Type.Object({}), []), { body: ['must be an object'] })
})

t.test('defaults are filled in', async (t) => {
  const value = {}
  t.equal(
    compileValidator(Type.Object({ page: Type.Optional(Type.Integer({ default: 1 })) }))(value),
    undefined,
  )
  t.strictSame(value, { page: 1 })
})

t.test('inherited members count as missing', async (t) => {
  const errors = errorsOf(Type.Object({ constructor: Type.Unknown() }), {})
  t.equal(JSON.stringify(errors), '{"constructor":["is required"]}')
})

t.test('the number of issues is bounded, and a huge input is rejected at its first', async (t) => {
  const schema = Type.Object({ list: Type.Array(Type.String()) })
  const few = errorsOf(schema, { list: Array(1000).fill(1) })
  t.equal(Object.keys(few ?? {}).length, 50)
  const many = errorsOf(schema, { list: Array(200_000).fill(1) })
  t.strictSame(many, { 'list[0]': ['must be a string'] })
})
