import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { bodyWork } from '../../../src/expressions/work.ts'
import { mayHoldBraces, planUrl, URL_BYTES } from '../../../src/gateway/surfaces/url.ts'
import type { Json, Surface } from '../../../src/sdk/index.ts'

const language = createExpressions()
const ALL: readonly Surface[] = ['path', 'query:key', 'query:ü']

const build = async (path: string, values: Record<string, Json> = {}, surfaces = ALL): Promise<string> =>
  planUrl(path, surfaces, (text) => language.parse(text)).build(
    (id) => (Object.hasOwn(values, id) ? { data: values[id] as Json, token: null } : undefined),
    bodyWork(),
  )
const codeOf = async (work: () => unknown): Promise<string | undefined> => {
  try {
    await work()
    return undefined
  } catch (thrown) {
    return AppError.from(thrown).code
  }
}

t.test(
  'an expression is evaluated inside a segment or a value, in every spelling of its braces',
  async (t) => {
    const values = { id: 'a/b c', card: { number: '42' } }
    for (const [path, built] of [
      ['/users/u-{{id}}/x', '/users/u-a%2Fb%20c/x'],
      ['/%7B%7B%20id%20%7D%7D', '/a%2Fb%20c'],
      ['/%7b{id}%7D/', '/a%2Fb%20c/'],
      ["/{{card|json:'$.number'}}", '/42'],
      ["/%7B%7B%20card%20%7C%20json%3A%20'%24.number'%20%7D%7D", '/42'],
      ['/x?key={{id}}', '/x?key=a%2Fb%20c'],
      ['/x?a=1&key=pre-%7B%7B+id+%7D%7D%2B&b=%20', '/x?a=1&key=pre-a%2Fb%20c%2B&b=%20'],
      ['/x?%6bey={{id}}', '/x?%6bey=a%2Fb%20c'],
      ['/x?%C3%BC={{id}}', '/x?%C3%BC=a%2Fb%20c'],
      ['/a%2fb%20c/{{id}}//', '/a%2fb%20c/a%2Fb%20c//'],
      ['/a+b/{{id}}', '/a+b/a%2Fb%20c'],
    ] as const)
      t.equal(await build(path, values), built, path)
  },
)

t.test('other text keeps its bytes', async (t) => {
  const values = { id: 'value' }
  for (const path of ['/x', '/%2e%2f?x=%%%&&=&a==b', '/%257B%257Bid%257D%257D', '/x?Key={{id}}', '/x?{{id}}'])
    t.equal(await build(path, values), path)
  t.equal(await build('/{{id}}?key={{id}}', values, []), '/{{id}}?key={{id}}')
  t.equal(await build('/{{id}}?key={{id}}', values, ['path']), '/value?key={{id}}')
})

t.test('values are encoded and end neither their segment nor their parameter', async (t) => {
  for (const value of ['a&b=c', '#', '?x', 'ü😀', 'a%2eb', 'a+b', '\'"<>\\', '{{ other }}', ';x', 'a\\b']) {
    const url = new URL(
      `https://host.test${await build('/p/{{id}}/q?key={{id}}&z=1', { id: value, other: 'writeOnly' })}`,
    )
    const [, , segment = '', last] = url.pathname.split('/')
    t.equal(decodeURIComponent(segment), value)
    t.equal(last, 'q')
    t.same(
      [...url.searchParams],
      [
        ['key', value],
        ['z', '1'],
      ],
    )
    t.equal(url.hash, '')
  }
  t.equal(
    await build('/x?key={{id}}', { id: '\0\r\n\t\x7f' }),
    '/x?key=%00%0D%0A%09%7F',
    'a query takes every byte',
  )
  t.equal(await build('/x?key={{id}}', { id: null }), '/x?key=')
  t.equal(await build('/{{id}}', { id: { a: [1] } }), '/%7B%22a%22%3A%5B1%5D%7D', 'objects are JSON')
})

t.test(
  'control characters, dot segments and empty segments in the path are invalid_expression',
  async (t) => {
    const bad = ['', '.', '..', '../x', 'a/../b', 'a/./b', '..\\x', '%2e%2e', '%2e', '..;x', ' .. ', '\t']
    for (const value of [...bad, '\0', '\r\n', '\n', 'a\x7f', '\x85', 'a\x00', '%2e%2e%2fx'])
      t.equal(
        await codeOf(() => build('/a/{{id}}/b', { id: value })),
        'invalid_expression',
        JSON.stringify(value),
      )
    t.equal(
      await codeOf(() => build('/.{{id}}', { id: '.' })),
      'invalid_expression',
      'together with what stands beside it',
    )
    t.equal(await build('/a{{id}}', { id: '..' }), '/a..', 'these dots are no dot segment')
    t.equal(await build('/%2e{{id}}x', { id: '.' }), '/%2e.x')
  },
)

t.test('the resulting path and query have at most 8 KiB', async (t) => {
  const path = '/?key={{id}}'
  const room = URL_BYTES - path.length + '{{id}}'.length
  t.equal((await build(path, { id: 'a'.repeat(room) })).length, URL_BYTES)
  t.equal(await codeOf(() => build(path, { id: 'a'.repeat(room + 1) })), 'uri_too_long')
  for (const value of ['a'.repeat(1_000_000), '/..'.repeat(300_000), '\u{1f600}'.repeat(1_000)])
    t.equal(await codeOf(() => build('/{{id}}', { id: value })), 'uri_too_long')
})

t.test('a URL without evaluated expressions passes, however long it is', async (t) => {
  const path = `/{{x}}/${'a'.repeat(URL_BYTES)}?other={{y}}`
  t.equal(await build(path, {}, ['query:key']), path)
})

t.test('malformed expressions and "| raw" are rejected before a token is looked up', async (t) => {
  for (const path of [
    '/{{id',
    '/{{}}',
    '/{{id|raw}}',
    '/{{id|nope}}',
    '/{{a/b}}',
    '/x?key={{id|raw}}',
    '/x?key=%7B%7B',
  ])
    t.equal(
      await codeOf(() => planUrl(path, ALL, (text) => language.parse(text))),
      'invalid_expression',
      path,
    )
  const [text] = planUrl('/{{id}}', ALL, (one) => language.parse(one)).texts
  t.match(text, { surface: 'path', ids: ['id'], texts: ['{{id}}'] })
  try {
    await build('/x?key={{gone}}')
  } catch (thrown) {
    t.same(Object.keys(AppError.from(thrown).errors ?? {}), ['query:key'])
  }
})

t.test('parts with braces off the list are closed, names of parameters included', async (t) => {
  const closed = (path: string, surfaces: readonly Surface[]) =>
    planUrl(path, surfaces, (text) => language.parse(text)).closed.map(({ place }) => place)
  t.same(closed('/{{a}}?b={{c}}&d=%7B%7Be&f=1', []), ['path', 'query:b', 'query:d'])
  t.same(closed('/{{a}}?key={{c}}', ['path', 'query:key']), [])
  t.same(closed('/x?{{a}}={{c}}', ['query:{{a}}']), ['query:{{a}}'])
  t.same(closed('/x?a=1', []), [])
  t.equal(mayHoldBraces('/a%7D?x={y}'), false)
})
