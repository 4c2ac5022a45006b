import t from 'tap'
import { castArguments, castConfiguration } from '../../../plugins/reactors/coerce.ts'
import type { ElementType } from '../../../plugins/reactors/parameters.ts'
import { AppError, type Json } from '../../../src/sdk/index.ts'

const parameter = (name: string, type: ElementType, optional = false) => ({ name, type, optional })

const issuesOf = (parameters: ReturnType<typeof parameter>[], args: Json) => {
  try {
    castArguments(parameters, args)
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return Object.keys(thrown.errors ?? {})
  }
}

const CASTS: readonly (readonly [ElementType, Json, Json | undefined])[] = [
  ['number', '123', 123],
  ['number', ' 1.5e3 ', 1500],
  ['number', -0.5, -0.5],
  ['number', '', undefined],
  ['number', '12a', undefined],
  ['number', 'Infinity', undefined],
  ['number', true, undefined],
  ['number', [1], undefined],
  ['boolean', 'true', true],
  ['boolean', 'False', false],
  ['boolean', false, false],
  ['boolean', 'yes', undefined],
  ['boolean', 1, undefined],
  ['string', 'x', 'x'],
  ['string', 123, '123'],
  ['string', false, 'false'],
  ['string', {}, undefined],
]

for (const [type, value, expected] of CASTS)
  t.test(
    `${JSON.stringify(value)} as a ${type} is ${expected === undefined ? 'rejected' : JSON.stringify(expected)}`,
    async (t) => {
      const parameters = [parameter('x', type)]
      if (expected === undefined) t.same(issuesOf(parameters, { x: value }), ['args.x'])
      else t.strictSame(castArguments(parameters, { x: value }), { x: expected })
    },
  )

t.test('a dotted name is a member of an object, sent nested or flat', async (t) => {
  const parameters = [parameter('card.number', 'string'), parameter('card.year', 'number')]
  const expected = { card: { number: '42', year: 2030, more: 1 } }
  t.strictSame(castArguments(parameters, { card: { number: 42, year: '2030', more: 1 } }), expected)
  t.strictSame(castArguments(parameters, { 'card.number': '42', card: { year: '2030', more: 1 } }), expected)
  t.same(issuesOf(parameters, { card: 'no object' }), ['args.card.number', 'args.card.year'])
})

t.test('every parameter that is missing is named, unless it is optional', async (t) => {
  const parameters = [parameter('a', 'string'), parameter('b.c', 'number'), parameter('d', 'string', true)]
  t.same(issuesOf(parameters, { a: null }), ['args.a', 'args.b.c'])
  t.same(issuesOf(parameters, 'text'), ['args'])
})

t.test('an object that many parameters lie in is copied once', async (t) => {
  let copies = 0
  const big = new Proxy<Record<string, unknown>>(
    {},
    {
      ownKeys: () => {
        copies++
        return []
      },
    },
  )
  const parameters = Array.from({ length: 100 }, (_, index) => parameter(`a.p${index}`, 'string', true))
  castArguments(parameters, { a: big } as never)
  t.equal(copies, 1)
})

t.test('undeclared arguments pass, and the input is not mutated', async (t) => {
  const args = { n: '1', deep: { m: '2', other: [1] } }
  t.strictSame(castArguments([parameter('n', 'number'), parameter('deep.m', 'number')], args), {
    n: 1,
    deep: { m: 2, other: [1] },
  })
  t.strictSame(args, { n: '1', deep: { m: '2', other: [1] } })
  t.strictSame(castArguments([], 'any payload'), 'any payload')
})

t.test('inherited members are not arguments', async (t) => {
  t.same(issuesOf([parameter('constructor.name', 'string')], {}), ['args.constructor.name'])
  t.same(issuesOf([parameter('toString', 'string')], {}), ['args.toString'])
})

t.test('configuration is cast where that is possible', async (t) => {
  const elements = [
    { name: 'n', type: 'number' as const },
    { name: 'text', type: 'number' as const },
    { name: 'b', type: 'boolean' as const },
  ]
  t.strictSame(castConfiguration(elements, { n: '5', text: 'five', b: 'true', more: 'x' }), {
    n: 5,
    text: 'five',
    b: true,
    more: 'x',
  })
})
