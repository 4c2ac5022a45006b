import t from 'tap'
import { allowsDestination, isWithin, parseDestinationList } from '../../src/egress/destination-list.ts'
import type { AllowedDestinationInput, DestinationList } from '../../src/sdk/index.ts'

const issuesOf = (input: object): readonly string[] => {
  const issues: string[] = []
  parseDestinationList([input as AllowedDestinationInput], (path) => issues.push(path))
  return issues
}

const list = (...inputs: object[]): DestinationList =>
  parseDestinationList(inputs as AllowedDestinationInput[], (path) => {
    throw new Error(`issue at ${path}`)
  })

const TO = { host: 'api.example.com', port: 443, method: 'POST', path: '/v1/charges' }

t.test(
  'hosts are stored in lower case, as A-labels, without a final dot, addresses in canonical form',
  (t) => {
    for (const [host, stored] of [
      ['API.Example.com.', 'api.example.com'],
      ['*.Example.com', '*.example.com'],
      ['b\u00fccher.test', 'xn--bcher-kva.test'],
      ['*.b\u00fccher.test.', '*.xn--bcher-kva.test'],
      ['under_score.test', 'under_score.test'],
      ['0177.0.0.1', '127.0.0.1'],
      ['2130706433', '127.0.0.1'],
      ['2001:DB8:0::1', '2001:db8::1'],
      ['[2001:db8::0:1]', '2001:db8::1'],
      ['localhost', 'localhost'],
    ])
      t.same(list({ host }), [{ host: stored, ports: [443] }], `${host}`)
    t.end()
  },
)

t.test('members are stored once each, in order', (t) => {
  t.same(
    list({
      host: 'a.test',
      ports: [8443, 443, 8443],
      methods: ['PUT', 'GET', 'PUT'],
      path: '/%76%31/%c3%a9/\u00e9/**',
      surfaces: ['query:Key', 'header:Authorization', 'body', 'header:authorization'],
    }),
    [
      {
        host: 'a.test',
        ports: [443, 8443],
        methods: ['GET', 'PUT'],
        path: '/v1/%C3%A9/%C3%A9/**',
        surfaces: ['body', 'header:authorization', 'query:Key'],
      },
    ],
  )
  t.same(list({ host: 'a.test', ports: null, methods: null, path: null, surfaces: null }), [
    { host: 'a.test', ports: [443] },
  ])
  t.end()
})

t.test('an invalid host, pattern or surface is an issue', (t) => {
  for (const host of [
    '',
    '*',
    '*.',
    '*.*.test',
    'a.*.test',
    'a*.test',
    '*a.test',
    '*.127.0.0.1',
    '*.1.2.3',
    'a..test',
    '.a.test',
    'a.test:443',
    'a.test/x',
    'a@b.test',
    'a b.test',
    'a%2etest',
    'a\\b.test',
    'a.test#',
    'a.test?',
    'a\u00adb.test',
    'a\u200bb.test',
    'https://a.test',
    '[::1',
    '::1%eth0',
    '[a.test]',
    'a'.repeat(64),
    `${'a.'.repeat(127)}test`,
    '-a.test',
  ])
    t.same(issuesOf({ host }), ['[0].host'], host)
  for (const path of [
    'v1',
    '/a//b',
    '//',
    '/a/../b',
    '/a/%2e%2E/b',
    '/./a',
    '/a%2Fb',
    '/a%5cb',
    '/a\\b',
    '/a%',
    '/a%4',
    '/**/a',
    '/a*',
    '/*a/b',
    '/***',
    '/a?b',
    '/a#b',
    '/a b',
    '/{{x}}',
    `/${'é'.repeat(100)}`,
    '/\ud800',
  ])
    t.same(issuesOf({ host: 'a.test', path }), ['[0].path'], path)
  for (const surface of [
    '',
    'headers',
    'header:',
    'header:a b',
    'header:*',
    'header:host',
    'query:',
    'cookie:a',
  ])
    t.same(issuesOf({ host: 'a.test', surfaces: [surface] }), ['[0].surfaces[0]'], surface)
  t.end()
})

t.test('a list allows the host, port, method and path of one entry', (t) => {
  const card = list({ host: 'api.example.com', methods: ['POST'], path: '/v1/**' })
  t.ok(allowsDestination(card, TO))
  t.ok(allowsDestination(card, { ...TO, path: '/v1/charges?a=/../b' }), 'a query is no part of the path')
  for (const other of [
    { host: 'api.example.org' },
    { host: 'xapi.example.com' },
    { host: 'api.example.com.evil.test' },
    { host: 'example.com' },
    { port: 8443 },
    { method: 'GET' },
    { path: '/v2/charges' },
    { path: '/v1x' },
    { path: '/' },
  ])
    t.notOk(allowsDestination(card, { ...TO, ...other }), JSON.stringify(other))
  const both = list({ host: 'a.test', ports: [8443] }, { host: 'b.test' })
  t.ok(allowsDestination(both, { ...TO, host: 'a.test', port: 8443 }))
  t.notOk(allowsDestination(both, { ...TO, host: 'a.test' }), 'members of two entries do not mix')
  t.ok(allowsDestination(list({ host: '::1' }), { ...TO, host: '[::1]' }))
  t.notOk(allowsDestination(list({ host: '1.2.3.4' }), { ...TO, host: '[::ffff:102:304]' }))
  t.end()
})

t.test('"*." matches exactly one label', (t) => {
  const wild = list({ host: '*.example.com' })
  const holds = (host: string) => allowsDestination(wild, { ...TO, host })
  t.ok(holds('api.example.com'))
  for (const host of ['example.com', 'a.b.example.com', '.example.com', 'aexample.com', 'a.example.com.test'])
    t.notOk(holds(host), host)
  t.end()
})

t.test('"*" matches a segment, "**" the rest; unreserved characters are compared decoded', (t) => {
  const cases: readonly (readonly [pattern: string, held: readonly string[], others: readonly string[]])[] = [
    ['/v1/**', ['/v1', '/v1/', '/v1/a', '/v1/a/b/', '/%76%31/a'], ['/v1a', '/V1', '/', '/v%311']],
    ['/v1/*', ['/v1/a', '/v1/%61', '/v1/{{}}', '/v1/u-{{}}'], ['/v1', '/v1/', '/v1/a/', '/v1/a/b']],
    ['/a/*/c', ['/a/b/c', '/a/{{}}/c'], ['/a/c', '/a/b/d', '/a//c', '/a/b/c/']],
    ['/**', ['/', '/a', '/a/b/'], []],
    ['/', ['/'], ['/a', '']],
    ['/v1/', ['/v1/'], ['/v1']],
    ['/é', ['/%C3%A9', '/%c3%a9'], ['/e']],
    ['/a', ['/a', '/%61'], ['/{{}}', '/a{{}}']],
    ['/%7B%7Ba%7D%7D', [], ['/{{a}}', '/%7B%7Ba%7D%7D', '/{%7ba}}']],
    ['/*', ['/{{a}}', '/%7B%7Ba%7D%7D'], []],
  ]
  for (const [path, held, others] of cases) {
    const allowed = list({ host: TO.host, path })
    for (const path of held)
      t.ok(allowsDestination(allowed, { ...TO, path }), `${path} in ${allowed[0]?.path}`)
    for (const path of others)
      t.notOk(allowsDestination(allowed, { ...TO, path }), `${path} not in ${allowed[0]?.path}`)
  }
  t.end()
})

t.test('ambiguous paths match no pattern, but an entry without one', (t) => {
  for (const path of [
    '//',
    '/v1//a',
    '/v1/%2Fa',
    '/v1/a%2fb',
    '/v1/%5C',
    '/v1/a\\b',
    '/v1/../v2',
    '/v1/%2e%2e/v2',
    '/v1/.%2E/v2',
    '/v1/%252e%252e/v2',
    '/v1/..;/v2',
    '/v1/./a',
    '/v1/%',
    '/v1/%zz',
    'v1',
  ]) {
    t.notOk(allowsDestination(list({ host: TO.host, path: '/**' }), { ...TO, path }), path)
    t.ok(allowsDestination(list({ host: TO.host }), { ...TO, path }), path)
  }
  t.end()
})

t.test(
  'each surface of a value must be allowed; code uses any, so entries with surfaces do not match',
  (t) => {
    const header = list(
      { host: TO.host, surfaces: ['header:authorization'] },
      { host: TO.host, surfaces: ['body'], path: '/v1/**' },
    )
    t.ok(allowsDestination(header, TO, ['header:authorization']))
    t.ok(allowsDestination(header, TO, ['header:authorization', 'body']))
    t.notOk(allowsDestination(header, { ...TO, path: '/v2' }, ['header:authorization', 'body']))
    t.notOk(allowsDestination(header, TO, ['query:key']))
    t.notOk(allowsDestination(header, TO, []))
    t.notOk(allowsDestination(header, TO))
    t.ok(allowsDestination(list({ host: TO.host }), TO, ['query:key']))
    t.end()
  },
)

t.test('a list is within another when each of its entries is', (t) => {
  const outer = { host: '*.example.com', ports: [443, 8443], methods: ['GET', 'POST'], path: '/v1/**' }
  const inside: readonly object[] = [
    outer,
    { ...outer, host: 'a.example.com' },
    { ...outer, ports: [8443] },
    { ...outer, methods: ['GET'] },
    { ...outer, path: '/v1' },
    { ...outer, path: '/v1/*' },
    { ...outer, path: '/v1/a/**' },
    { ...outer, surfaces: ['body'] },
  ]
  for (const entry of inside) t.ok(isWithin(list(outer), list(entry)), JSON.stringify(entry))
  const beyond: readonly object[] = [
    { ...outer, host: 'example.com' },
    { ...outer, host: 'a.b.example.com' },
    { ...outer, ports: [443, 80] },
    { ...outer, methods: ['PUT'] },
    { ...outer, methods: null },
    { ...outer, path: null },
    { ...outer, path: '/**' },
    { ...outer, path: '/*' },
    { ...outer, path: '/v2' },
  ]
  for (const entry of beyond) t.notOk(isWithin(list(outer), list(outer, entry)), JSON.stringify(entry))
  t.ok(isWithin(undefined, list(outer)))
  t.ok(isWithin(undefined, undefined))
  t.notOk(isWithin(list(outer), undefined))
  t.notOk(isWithin(list(outer), null))
  t.notOk(isWithin(list({ ...outer, path: '/v1/*' }), list({ ...outer, path: '/v1/**' })))
  t.notOk(isWithin(list({ ...outer, path: '/v1/a/**' }), list({ ...outer, path: '/v1/**' })))
  t.notOk(isWithin(list({ ...outer, surfaces: ['body'] }), list(outer)))
  t.end()
})

t.test('isWithin is sound: what the inner list allows, the outer one allows', (t) => {
  const hosts = ['a.test', 'b.a.test', '*.a.test', '*.test']
  const paths = [null, '/**', '/*', '/a', '/a/', '/a/**', '/a/*', '/*/b', '/*/**', '/a/b']
  const entries = hosts.flatMap((host) => paths.map((path) => ({ host, path })))
  const requests = ['a.test', 'b.a.test', 'c.b.a.test', 'c.test'].flatMap((host) =>
    ['/', '/a', '/a/', '/a/b', '/a/b/', '/x', '/x/b', '/a//b', '/{{}}', '/a/{{}}'].map((path) => ({
      ...TO,
      host,
      path,
    })),
  )
  const lists = entries.map((entry) => list(entry))
  const pairs = lists.flatMap((outer) => lists.map((inner) => [outer, inner] as const))
  const within = pairs.filter(([outer, inner]) => isWithin(outer, inner))
  const wrong = within.filter(([outer, inner]) =>
    requests.some((to) => allowsDestination(inner, to) && !allowsDestination(outer, to)),
  )
  t.same(wrong, [])
  t.ok(within.length > lists.length)
  t.end()
})

t.test('a stored list has a size limit as JSON', (t) => {
  const issues: string[] = []
  const host = `${'a'.repeat(60)}.`.repeat(3).concat('test')
  const path = `/${'p'.repeat(390)}`
  const surfaces = Array.from({ length: 20 }, (_, at) => `header:x-${at}`)
  const large = Array.from({ length: 20 }, () => ({ host, path, surfaces }))
  parseDestinationList(large, (path) => issues.push(path))
  t.same(issues, [''])
  t.equal(list(...Array.from({ length: 20 }, () => ({ host, path }))).length, 20)
  t.end()
})
