import t from 'tap'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { parseFilters, parseOutput } from '../../src/expressions/syntax.ts'

const { parseStored } = createExpressions()

const data: Json = {
  number: '4242',
  list: ['a', 'b'],
  nothing: null,
  size: 'own size',
  inner: { first: 'own first', length: 5 },
  'odd | }} name': 1,
}

const PATHS: readonly (readonly [path: string, value: Json])[] = [
  ['data', data],
  ['data.number', '4242'],
  ['data.number.size', 4],
  ['data.number[0]', '4'],
  ['data.list', ['a', 'b']],
  ['data.list.size', 2],
  ['data.list.first', 'a'],
  ['data.list.last', 'b'],
  ['data.list[1]', 'b'],
  ['data.list[-1]', 'b'],
  ['data.list[2]', null],
  ['data["list"][0]', 'a'],
  ["data['odd | }} name']", 1],
  ['data.size', 'own size'],
  ['data.inner.size', 2],
  ['data.inner.first', 'own first'],
  ['data.inner.length', 5],
  ['data.nothing', null],
  ['data.nope', null],
  ['data.nope.deeper', null],
  ['data.constructor', null],
  ['data.__proto__', null],
  ['nope', null],
  ['true', true],
  ['nil', null],
  ['empty', ''],
  ['-1.50', -1.5],
  ["'it\\'s \\u0041\\n'", "it's A\n"],
]

for (const [path, value] of PATHS)
  t.test(`{{ ${path} }} is parsed as by Liquid`, async (t) => {
    t.strictSame(parseStored(`{{ ${path} }}`).evaluate({ data }), value)
  })

t.test('arguments are literals, paths, and one named argument', async (t) => {
  t.strictSame(parseOutput(`a.b | f: 'x', -5, true, nil, c[0].d, k: "v" | g`), {
    head: { kind: 'path', parts: ['a', 'b'] },
    filters: [
      {
        name: 'f',
        args: [
          { kind: 'literal', value: 'x' },
          { kind: 'literal', value: -5 },
          { kind: 'literal', value: true },
          { kind: 'literal', value: null },
          { kind: 'path', parts: ['c', 0, 'd'] },
        ],
        named: new Map([['k', { kind: 'literal', value: 'v' }]]),
      },
      { name: 'g', args: [], named: new Map() },
    ],
  })
})

const REJECTED = [
  '(1..5)',
  'data.list contains "a"',
  'data.number == "4242"',
  'data and true',
  'data[data.number]',
  'data.',
  'data..number',
  'data.list[',
  'data.list[0',
  'data.list[1.5]',
  "'open",
  'data.number,',
  'data.number, 4',
  'data.number | last4,',
  'data.number | last4 upcase',
  'data.number || last4',
  'data.number | append: (1..5)',
  'data.number | append: "a".size',
  `data${'.a'.repeat(64)}`,
  `data ${'| last4 '.repeat(33)}`,
]

for (const text of REJECTED)
  t.test(`{{ ${text.slice(0, 40)} }} is rejected`, async (t) => {
    t.throws(() => parseOutput(text), { code: 'invalid_expression' })
  })

t.test('filters outside of an expression take literal arguments only, in valid syntax', async (t) => {
  t.equal(parseFilters('| last4 | append: "x"').length, 2)
  for (const text of ['| append: ssn', '| default: 1, allow_false: ssn', ', last4', '| last4, upcase', '|'])
    t.throws(() => parseFilters(text), { code: 'invalid_expression' }, text)
})
