import { createHmac } from 'node:crypto'
import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { bodyWork } from '../../../src/expressions/work.ts'
import { type Edits, headerRules } from '../../../src/gateway/headers.ts'
import { planHeaders } from '../../../src/gateway/surfaces/headers.ts'
import type { Json, StoredProxy, Surface } from '../../../src/sdk/index.ts'

const language = createExpressions()
const NO_EDITS: Edits = { set: new Map(), remove: [] }

interface Given {
  readonly values?: Readonly<Record<string, Json>>
  readonly surfaces?: readonly Surface[]
  readonly configuration?: Readonly<Record<string, unknown>>
  readonly body?: string | Buffer
  readonly edits?: Edits
  readonly streamed?: boolean
  readonly stripped?: readonly string[]
}

const planOf = (
  headers: Readonly<Record<string, string | readonly string[]>>,
  { surfaces = ['header:x-a', 'header:x-b'], configuration, streamed = false, stripped = [] }: Given = {},
) =>
  planHeaders(
    {
      head: new Map(Object.entries(headers).map(([name, lines]) => [name, [lines].flat()])),
      stripped,
      prefixes: headerRules(['svc']),
      proxy: configuration && ({ configuration } as StoredProxy),
      streamed,
    },
    surfaces,
    (text, seen) => language.parse(text, undefined, seen),
  )

const sent = async (headers: Readonly<Record<string, string | readonly string[]>>, given: Given = {}) => {
  const { values = {}, edits = NO_EDITS, body = '' } = given
  const { set } = await planOf(headers, given).apply(
    edits,
    Buffer.from(body),
    (id) => (Object.hasOwn(values, id) ? { data: values[id] as Json, token: null } : undefined),
    bodyWork(),
  )
  return set
}

const codeOf = async (work: () => unknown): Promise<string | undefined> => {
  try {
    await work()
    return undefined
  } catch (thrown) {
    return AppError.from(thrown).code
  }
}

t.test('values are inserted in the listed headers by line, and each line is trimmed', async (t) => {
  const values = { id: ' secret\t', n: 5, o: { a: 1 }, none: null }
  t.same(
    await sent(
      { 'x-a': 'Bearer {{ id }}', 'x-b': ['{{ n }}', 'plain', '{{o}} {{none}}'], 'x-c': '{{ id }}' },
      { values },
    ),
    new Map([
      ['x-a', ['Bearer  secret']],
      ['x-b', ['5', 'plain', '{"a":1}']],
    ]),
  )
  t.same(await sent({ 'x-a': '{{ none }}' }, { values }), new Map([['x-a', ['']]]))
  t.equal((await sent({ 'x-a': 'plain', 'x-c': '{{ id }}' }, { values })).size, 0)
})

t.test('control characters other than tab are rejected; other characters are sent as UTF-8', async (t) => {
  for (const value of [
    'a\rb',
    'a\nb',
    'a\r\nx-evil: 1',
    '\0',
    'a\x7f',
    '\x1b[0m',
    '\x85',
    '\x9f',
    'end\n',
    '\v',
  ])
    t.equal(
      await codeOf(() => sent({ 'x-a': '{{ id }}' }, { values: { id: value } })),
      'invalid_expression',
      JSON.stringify(value),
    )
  t.same((await sent({ 'x-a': '{{ id }}' }, { values: { id: 'a\tb' } })).get('x-a'), ['a\tb'])
  const [line = ''] = [
    (await sent({ 'x-a': '{{ id }}' }, { values: { id: 'à ü 😀' } })).get('x-a') ?? [],
  ].flat()
  t.equal(Buffer.from(line, 'latin1').toString(), 'à ü 😀')
  const bytes = '\xe4\xff {{ id }} \xa0'
  t.same(
    (await sent({ 'x-a': bytes }, { values: { id: 'v' } })).get('x-a'),
    ['\xe4\xff v \xa0'],
    'literal bytes stay',
  )
  const utf8 = Buffer.from('{{ schlüssel }}').toString('latin1')
  t.same((await sent({ 'x-a': utf8 }, { values: { schlüssel: 'v' } })).get('x-a'), ['v'])
})

t.test('a long run of blanks takes linear time', async (t) => {
  const id = `${' '.repeat(40_000)}x`
  t.same((await sent({ 'x-a': '-{{ id }}' }, { values: { id } })).get('x-a'), [`-${id}`])
})

t.test('an expression in a value is not evaluated', async (t) => {
  const values = { id: '{{ other }}', other: 'writeOnly' }
  t.same((await sent({ 'x-a': '{{ id }}' }, { values })).get('x-a'), ['{{ other }}'])
})

t.test('headers that exceed their limit with values are headers_too_large', async (t) => {
  t.equal(
    await codeOf(() => sent({ 'x-a': '{{ id }}' }, { values: { id: 'a'.repeat(70_000) } })),
    'headers_too_large',
  )
})

t.test('a header may sign the sent body with a secret of the configuration', async (t) => {
  const body = Buffer.from([0, 1, 2, 0xff, 0x7b])
  const signature = createHmac('sha256', 'key').update(body).digest('hex').toUpperCase()
  t.same(
    (
      await sent(
        { 'x-a': "v1={{ request.body | hmac: 'sha-256', configuration.secret | to_base16 }}" },
        { configuration: { secret: 'key' }, body },
      )
    ).get('x-a'),
    [`v1=${signature}`],
  )
  const large = Buffer.alloc(8 * 1024 * 1024, 'x')
  t.same(
    (await sent({ 'x-a': "{{ request.body | hmac: 'sha-256', 'key' | to_base64 }}" }, { body: large })).get(
      'x-a',
    ),
    [createHmac('sha256', 'key').update(large).digest('base64')],
    'as large as a body may be',
  )
})

t.test('a header may read other headers as sent, but no hidden or removed one', async (t) => {
  const read = async (name: string, given: Given = {}) =>
    (
      await sent(
        {
          'x-a': `{{ request.headers.${name} }}`,
          'x-date': ['1', '2'],
          'x-utf8': Buffer.from('ü').toString('latin1'),
          host: 'h',
          'svc-api-key': 'key',
          'content-length': '1',
        },
        given,
      )
    ).get('x-a')
  t.same(await read('x-date'), ['1, 2'])
  t.same(await read('X-Date'), ['1, 2'])
  t.same(await read('x-utf8'), [Buffer.from('ü').toString('latin1')])
  for (const name of ['host', 'svc-api-key', 'content-length', 'nothing', '__proto__'])
    t.same(await read(name), [''], name)
  t.same(await read('x-date', { edits: { set: new Map([['x-date', '3']]), remove: [] } }), ['3'])
  t.same(await read('x-date', { edits: { set: new Map(), remove: ['x-date'] } }), [''])
  t.same(await read('x-date', { stripped: ['x-date'] }), [''])
  t.equal(
    await codeOf(() => planOf({ 'x-a': '{{ request.headers.x-b }}', 'x-b': '{{ id }}' })),
    'invalid_expression',
    'one with an expression of its own',
  )
})

t.test('variables missing from the request are rejected', async (t) => {
  const body = "{{ request.body | hmac: 'sha-256', 'k' }}"
  t.equal(await codeOf(() => planOf({ 'x-a': body }, { streamed: true })), 'invalid_expression')
  for (const text of ['{{ configuration.secret }}', "{{ 'x' | hmac: 'sha-256', configuration.secret }}"])
    t.equal(await codeOf(() => planOf({ 'x-a': text })), 'invalid_expression', text)
  for (const filter of [
    'other.name',
    'request',
    'request.body.buffer',
    'configuration',
    'configuration.a.b',
    'data',
  ])
    t.equal(
      await codeOf(() => planOf({ 'x-a': `{{ 'x' | append: ${filter} }}` }, { configuration: {} })),
      'invalid_expression',
      filter,
    )
  for (const text of ["{{ 'x' | raw }}", '{{ id | raw }}', '{{ id | nope }}', '{{ id', '{{}}'])
    t.equal(await codeOf(() => planOf({ 'x-a': text })), 'invalid_expression', text)
  t.same(planOf({ 'x-a': '{{ request.other }}' }).texts[0]?.ids, ['request.other'], 'else it is an id')
  t.same(planOf({ 'x-a': '{{ token: request.body }}' }).texts[0]?.ids, ['request.body'])
  t.same((await sent({ 'x-a': '{{ configuration.none }}' }, { configuration: {} })).get('x-a'), [''])
  t.equal(
    await codeOf(() =>
      sent({ 'x-a': "{{ 'x' | hmac: 'sha-256', configuration.none }}" }, { configuration: {} }),
    ),
    'invalid_expression',
    'nothing is signed without a key',
  )
})

t.test('braces in a header set by a transform are not evaluated', async (t) => {
  const values = { id: 'value' }
  const set = new Map([['x-a', '{{ id }} of the transform']])
  t.same(
    (await sent({ 'x-a': '{{ id }}' }, { values, edits: { set, remove: [] } })).get('x-a'),
    '{{ id }} of the transform',
  )
  t.notOk(
    (await sent({ 'x-a': '{{ id }}' }, { values, edits: { set: new Map(), remove: ['x-a'] } })).has('x-a'),
  )
})

t.test('unlisted headers with braces are denied, unless they are not forwarded', async (t) => {
  const { closed } = planOf(
    { 'x-c': '{{ id }}', host: '{{ id }}', 'x-d': '{{ id }}', ':path': '/{{id}}' },
    { stripped: ['x-d'] },
  )
  t.same(
    closed.map(({ place }) => place),
    ['header:x-c', 'header:host'],
  )
})
