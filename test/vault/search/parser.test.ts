import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { SearchNode } from '../../../src/store/tokens/types.ts'
import { parseQuery } from '../../../src/vault/search/parser.ts'
import { charactersRead } from '../../kit/reads.ts'

const term = (text: string) => Buffer.from(`<${text}>`)
const data = (text: string): SearchNode => ({ kind: 'term', term: term(text) })
const type = (value: string): SearchNode => ({ kind: 'equals', field: 'type', value })
const day = Date.parse('2026-03-01T00:00:00Z')
const DAY = 86_400_000

const QUERIES: readonly (readonly [query: string, node: SearchNode])[] = [
  ['type:card', type('card')],
  ['  type:card  ', type('card')],
  ['type:"two words"', type('two words')],
  ['type:"a \\"b\\" \\\\"', type('a "b" \\')],
  ['type:a\\ b', type('a b')],
  ['type:"AND"', type('AND')],
  ['data:4242424242424242', data('4242424242424242')],
  ['data:"4242 4242"', data('4242 4242')],
  ['data:a:b', data('a:b')],
  ['data:-5', data('-5')],
  ['data:ANDREW', data('ANDREW')],
  ['data:a\\*', data('a*')],
  ['id:abc-1', { kind: 'equals', field: 'id', value: 'abc-1' }],
  ['id:abc*', { kind: 'prefix', field: 'id', value: 'abc' }],
  ['fingerprint:9xY', { kind: 'equals', field: 'fingerprint', value: '9xY' }],
  ['container:/PCI/', { kind: 'prefix', field: 'container', value: '/pci/' }],
  ['container:/pci/high', { kind: 'prefix', field: 'container', value: '/pci/high/' }],
  ['container:"/pci/"', { kind: 'prefix', field: 'container', value: '/pci/' }],
  ['container:/pci/*', { kind: 'prefix', field: 'container', value: '/pci/' }],
  ['container:/pc*', { kind: 'prefix', field: 'container', value: '/pc' }],
  ['container:*', { kind: 'prefix', field: 'container', value: '/' }],
  ['metadata.color:red', { kind: 'metadata', key: 'color', value: 'red' }],
  ['metadata.a.b-c:"x y"', { kind: 'metadata', key: 'a.b-c', value: 'x y' }],
  ['created_by:me', { kind: 'equals', field: 'created_by', value: 'me' }],
  ['type:a AND type:b', { kind: 'and', nodes: [type('a'), type('b')] }],
  ['type:a type:b', { kind: 'and', nodes: [type('a'), type('b')] }],
  ['type:a OR type:b', { kind: 'or', nodes: [type('a'), type('b')] }],
  [
    'type:a OR type:b AND type:c type:d OR type:e',
    { kind: 'or', nodes: [type('a'), { kind: 'and', nodes: [type('b'), type('c'), type('d')] }, type('e')] },
  ],
  [
    '(type:a OR type:b) AND type:c',
    { kind: 'and', nodes: [{ kind: 'or', nodes: [type('a'), type('b')] }, type('c')] },
  ],
  ['NOT type:a', { kind: 'not', node: type('a') }],
  ['!type:a', { kind: 'not', node: type('a') }],
  ['-type:a', { kind: 'not', node: type('a') }],
  ['NOT(type:a)', { kind: 'not', node: type('a') }],
  ['!!type:a', { kind: 'not', node: { kind: 'not', node: type('a') } }],
  ['type:a -type:b', { kind: 'and', nodes: [type('a'), { kind: 'not', node: type('b') }] }],
  ['NOT type:a AND type:b', { kind: 'and', nodes: [{ kind: 'not', node: type('a') }, type('b')] }],
  ['((type:a))', type('a')],
  [
    'created_at:2026-03-01',
    {
      kind: 'range',
      field: 'created_at',
      from: { value: day, inclusive: true },
      to: { value: day + DAY, inclusive: false },
    },
  ],
  [
    'created_at:2026-03-01T00:00:00Z',
    {
      kind: 'range',
      field: 'created_at',
      from: { value: day, inclusive: true },
      to: { value: day + 1, inclusive: false },
    },
  ],
  [
    'created_at:[2026-03-01 TO 2026-03-01]',
    {
      kind: 'range',
      field: 'created_at',
      from: { value: day, inclusive: true },
      to: { value: day + DAY, inclusive: false },
    },
  ],
  [
    'created_at:{2026-03-01 TO 2026-03-03}',
    {
      kind: 'range',
      field: 'created_at',
      from: { value: day + DAY, inclusive: true },
      to: { value: day + 2 * DAY, inclusive: false },
    },
  ],
  [
    'modified_at:[2026-03-01T00:00:00+00:00 TO *]',
    { kind: 'range', field: 'modified_at', from: { value: day, inclusive: true } },
  ],
  [
    'modified_at:[* TO "3/1/2026"}',
    { kind: 'range', field: 'modified_at', to: { value: day, inclusive: false } },
  ],
  ['modified_at:[* TO *]', { kind: 'range', field: 'modified_at', from: { value: 0, inclusive: true } }],
  ['expires_at:[* TO *]', { kind: 'range', field: 'expires_at', from: { value: 0, inclusive: true } }],
  [
    'id:[a TO b}',
    {
      kind: 'range',
      field: 'id',
      from: { value: 'a', inclusive: true },
      to: { value: 'b', inclusive: false },
    },
  ],
  [
    'metadata.n:{"1" TO 5]',
    {
      kind: 'metadata-range',
      key: 'n',
      from: { value: '1', inclusive: false },
      to: { value: '5', inclusive: true },
    },
  ],
  ['metadata.n:[ * TO * ]', { kind: 'metadata-range', key: 'n' }],
]

for (const [query, node] of QUERIES)
  t.test(`understands ${query}`, async (t) => {
    t.strictSame(parseQuery(query, term), node)
  })

const REJECTED = [
  'card',
  '4242424242424242',
  '"4242"',
  'type:',
  'type: card',
  ':card',
  'unknown:1',
  'metadata:1',
  'metadata.:1',
  'metadata.a/b:1',
  '__proto__:1',
  'type:a AND',
  'AND type:a',
  'type:a OR',
  'type:a AND OR type:b',
  'NOT',
  '()',
  '(type:a',
  'type:a)',
  'type:(a OR b)',
  'type:"a',
  'type:"a"b',
  'type:a"b"',
  'type:c*d',
  'type:c*',
  'type:c?d',
  'data:4242*',
  'data:*',
  'metadata.a:b*',
  'id:*b',
  'type:card~',
  'type:card^2',
  'container:pci',
  'container:pc*',
  'container:/a b/',
  'created_at:yesterday',
  'created_at:[2026-03-01 TO',
  'created_at:[2026-03-01 2026-03-02]',
  'created_at:[2026-03-01 to 2026-03-02]',
  'created_at:2026*',
  'data:[1 TO 2]',
  'type:\\',
  '*:*',
  `${'('.repeat(21)}type:a${')'.repeat(21)}`,
  `${'!'.repeat(100_000)}type:a`.slice(0, 3999),
  Array(101).fill('type:a').join(' '),
  `type:${'a'.repeat(4000)}`,
]

for (const query of REJECTED)
  t.test(`rejects ${query.slice(0, 40)}`, async (t) => {
    try {
      parseQuery(query, term)
      t.fail('it was accepted')
    } catch (error) {
      t.ok(error instanceof AppError && error.code === 'invalid' && error.errors?.query)
      t.notMatch(JSON.stringify((error as AppError).toProblem()), /4242/)
    }
  })

t.test('bounds are inclusive', async (t) => {
  t.doesNotThrow(() => parseQuery(`${'('.repeat(20)}type:a${')'.repeat(20)}`, term))
  t.doesNotThrow(() => parseQuery(Array(100).fill('type:a').join(' OR '), term))
})

t.test('hostile queries are rejected, and scanned a few times at most', async (t) => {
  for (const piece of ['(', '"', '\\', 'a:', '[', '!', 'a:"\\', ' TO ']) {
    const query = piece.repeat(4000).slice(0, 4000)
    let rejected = false
    const read = charactersRead(() => {
      try {
        parseQuery(query, term)
      } catch {
        rejected = true
      }
    })
    t.ok(rejected, piece)
    t.ok(read > 0 && read < 8 * query.length, `${piece}: ${read} characters of ${query.length}`)
  }
})
