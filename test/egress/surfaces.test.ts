import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { HOP_BY_HOP } from '../../src/common/http-headers.ts'
import { MAX_SURFACES, parseSurface, parseSurfaces } from '../../src/egress/surfaces.ts'

const PREFIXES = ['svc', 'BT']
const codeOf = (work: () => unknown): string | undefined => {
  try {
    work()
    return undefined
  } catch (thrown) {
    return AppError.from(thrown).code
  }
}

t.test('body, path, a header in any letter case and an exact query parameter are surfaces', async (t) => {
  for (const [text, parsed] of [
    ['body', 'body'],
    ['path', 'path'],
    ['header:Authorization', 'header:authorization'],
    ['header:x_api_key', 'header:x_api_key'],
    ['header:cookie', 'header:cookie'],
    ['query:Key', 'query:Key'],
    ['query:filter[a]', 'query:filter[a]'],
    ['query:ключ', 'query:ключ'],
  ] as const)
    t.equal(parseSurface(text, PREFIXES), parsed, text)
})

t.test(
  'headers for routing, framing, tracing, of Sidevault and of the connection are no surfaces',
  async (t) => {
    const never = [
      ...HOP_BY_HOP,
      ...[
        'host',
        'Host',
        'content-length',
        'Content-Type',
        'content-anything',
        'expect',
        ':path',
        ':authority',
      ],
      ...['forwarded', 'X-Forwarded-For', 'x-forwarded-anything', 'via', 'traceparent', 'tracestate'],
      ...[
        'x-request-id',
        'svc-api-key',
        'SVC-anything',
        'bt-proxy-url',
        'x-envoy-retry-on',
        'proxy-anything',
      ],
      ...['x-sidevault-cluster', '', 'a b', 'a:b', 'a\r\nb', 'ü', '*', 'x-*', 'x.y', 'a'.repeat(101)],
    ]
    for (const name of never)
      t.equal(
        codeOf(() => parseSurface(`header:${name}`, PREFIXES)),
        'invalid_surface',
        JSON.stringify(name),
      )
  },
)

t.test('other texts are rejected without being quoted', async (t) => {
  for (const text of [
    '',
    'Body',
    'BODY',
    'PATH',
    '*',
    'header',
    'header: a',
    'query:',
    'query:a\0',
    'query:\r\n',
  ])
    t.equal(
      codeOf(() => parseSurface(text, PREFIXES)),
      'invalid_surface',
      JSON.stringify(text),
    )
  t.equal(
    codeOf(() => parseSurface(`query:${'a'.repeat(101)}`, [])),
    'invalid_surface',
  )
  try {
    parseSurface('value 4242 4242', [])
  } catch (thrown) {
    t.notMatch(AppError.from(thrown).message, '4242')
  }
})

t.test('a list has each surface once and at most 20', async (t) => {
  t.same(parseSurfaces(['header:A', 'body', 'header:a', 'query:A', 'query:a'], []), [
    'header:a',
    'body',
    'query:A',
    'query:a',
  ])
  t.same(parseSurfaces([], []), [])
  const many = Array.from({ length: MAX_SURFACES + 1 }, (_, at) => `query:${at}`)
  t.equal(parseSurfaces(many.slice(1), []).length, MAX_SURFACES)
  t.equal(
    codeOf(() => parseSurfaces(many, [])),
    'invalid_surface',
  )
})
