import t from 'tap'
import { type Head, headerRules } from '../../../src/gateway/headers.ts'
import { changesOf, isHidden, readHeaders, showHeaders } from '../../../src/gateway/transform/headers.ts'

const rules = headerRules(['SVC', 'BT'])
const hidden = (name: string) => isHidden(name, rules)
const head: Head = new Map(
  Object.entries({
    ':method': ['POST'],
    'content-length': ['5'],
    'content-type': ['application/json'],
    'x-list': ['1', '2'],
    cookie: ['a=1', 'b=2'],
    'set-cookie': ['c=1', 'd=2'],
    'x-latin': ['caf\u00e9'],
    'svc-api-key': ['secret'],
    'bt-proxy-key': ['secret'],
    'svc-trace-id': ['trace'],
    'bt-proxy-destination-status': ['200'],
    'transfer-encoding': ['chunked'],
    'x-envoy-x': ['1'],
    __proto__x: ['1'],
  }),
)
const shown = showHeaders(head, hidden)

t.test('headers whose last byte is A0, as the UTF-8 of "à" has it, return unchanged', async (t) => {
  const bytes = (text: string) => Buffer.from(text).toString('latin1')
  const sent: Head = new Map([
    ['x-city', [bytes('{{ token }} voilà')]],
    ['x-ru', [bytes('МИР')]],
  ])
  const returned = readHeaders(JSON.parse(JSON.stringify(showHeaders(sent, hidden))), hidden)
  t.strictSame(returned && [...returned], [...sent])
  t.strictSame(
    readHeaders({ a: ' \t1\n' }, hidden)?.get('a'),
    ['1'],
    'ASCII blanks around a value are removed',
  )
})

t.test('code sees joined header lines, without those of Sidevault and of framing', async (t) => {
  t.strictSame(
    { ...shown },
    {
      'content-type': 'application/json',
      'x-list': '1, 2',
      cookie: 'a=1; b=2',
      'set-cookie': ['c=1', 'd=2'],
      'x-latin': 'caf\u00e9',
      __proto__x: '1',
    },
  )
})

const changes = (returned: unknown) => {
  const headers = readHeaders(returned, hidden)
  if (headers === undefined) throw new Error('rejected')
  const { set, remove } = changesOf(shown, headers)
  return { set: Object.fromEntries(set), remove }
}

t.test('unchanged headers are left alone', async (t) => {
  t.strictSame(changes({ ...shown }), { set: {}, remove: [] })
  t.strictSame(changes({ ...shown, 'X-List': '1, 2' }), { set: {}, remove: [] })
})

t.test('changed headers are set, new ones added, missing ones removed', async (t) => {
  const { cookie: _, ...rest } = shown
  t.strictSame(
    changes({
      ...rest,
      'x-list': 'z',
      'set-cookie': ['c=1'],
      'X-New': 5,
      Many: ['a', 'b'],
      none: null,
      yes: true,
    }),
    {
      set: { 'x-list': ['z'], 'set-cookie': ['c=1'], 'x-new': ['5'], many: ['a', 'b'], yes: ['true'] },
      remove: ['cookie'],
    },
  )
  t.strictSame(changes({ ...shown, 'content-type': 'a', 'Content-Type': 'b' }).set, { 'content-type': ['b'] })
  t.same(changes({}).remove.length, Object.keys(shown).length)
})

t.test('headers that code may not set are ignored', async (t) => {
  t.strictSame(
    changes({
      ...shown,
      ':path': '/x',
      Host: 'x',
      TE: 'x',
      'SVC-API-KEY': 'x',
      'x-sidevault-connection': 'x',
    }),
    { set: {}, remove: [] },
  )
})

t.test('invalid headers and too many headers are rejected', async (t) => {
  for (const returned of [
    null,
    [],
    'x',
    { 'a b': '1' },
    { '': '1' },
    { é: '1' },
    { a: '1\r\nb: 2' },
    { a: '\0' },
    { a: '\u20ac' },
    { a: { b: 1 } },
    { a: [['1']] },
    { a: 'x'.repeat(32_769) },
    { a: Array.from({ length: 101 }, () => '1') },
    Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, '1'])),
  ])
    t.equal(readHeaders(returned, hidden), undefined, JSON.stringify(returned)?.slice(0, 40))
})
