import t from 'tap'
import { parseCidr } from '../../src/common/cidr.ts'
import { AppError } from '../../src/common/errors.ts'
import {
  createDestinations,
  type DestinationPolicy,
  joinPath,
  parseDestination,
  parseSuffix,
} from '../../src/egress/parse-url.ts'
import { LITERALS, MALFORMED } from '../kit/forbidden-addresses.ts'

const POLICY: DestinationPolicy = { allow: [], ports: [443], http: false }
const OPEN: DestinationPolicy = { allow: ['127.0.0.0/8', '::1'].map(parseCidr), ports: '*', http: true }

const codeOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError) return error.code
  }
  return 'no error'
}

t.test('a URL is parsed to its canonical form', (t) => {
  const cases: readonly (readonly [string, DestinationPolicy, object])[] = [
    [
      'https://Example.COM',
      POLICY,
      { upstream: 'https', authority: 'example.com', port: 443, basePath: '', baseQuery: '' },
    ],
    [
      'HTTPS://example.com.:443//a/b//?c=d',
      POLICY,
      { authority: 'example.com', basePath: '//a/b', baseQuery: 'c=d' },
    ],
    ['https://b\u00fccher.test/', POLICY, { authority: 'xn--bcher-kva.test' }],
    ['https://under_score.test', POLICY, { authority: 'under_score.test' }],
    ['http://example.com', OPEN, { upstream: 'http', authority: 'example.com', port: 80 }],
    ['https://example.com:8443/x', OPEN, { authority: 'example.com:8443', port: 8443, basePath: '/x' }],
    ['http://example.com:443', OPEN, { upstream: 'http', authority: 'example.com:443' }],
    ['https://0177.0.0.1', OPEN, { authority: '127.0.0.1' }],
    ['https://[0::1]:99', OPEN, { authority: '[::1]:99' }],
    ['https://localhost', OPEN, { authority: 'localhost' }],
    ['https://service:8443', OPEN, { authority: 'service:8443' }],
    [`https://example.com/${'a'.repeat(380)}`, POLICY, { authority: 'example.com' }],
  ]
  for (const [text, policy, expected] of cases) t.match(parseDestination(text, policy), expected, text)
  t.end()
})

t.test('an invalid URL is distinguished from one that is not allowed', (t) => {
  for (const text of MALFORMED)
    for (const policy of [OPEN, POLICY])
      t.equal(
        codeOf(() => parseDestination(text, policy)),
        'invalid_destination',
        text,
      )
  for (const text of ['http://a.test', 'https://a.test:8443', 'https://service'])
    t.equal(
      codeOf(() => parseDestination(text, POLICY)),
      'destination_not_allowed',
      text,
    )
  t.end()
})

t.test('an address is denied in every spelling, at every port', (t) => {
  for (const host of LITERALS)
    for (const policy of [POLICY, { ...OPEN, allow: [] }])
      for (const text of [`https://${host}`, `https://${host}/path?a=b`, `HTTPS://${host}:443`])
        t.equal(
          codeOf(() => parseDestination(text, policy)),
          'destination_not_allowed',
          text,
        )
  t.end()
})

t.test('no error quotes the URL', (t) => {
  for (const text of ['https://secret@a.test', 'https://secret.test:8443', 'secret'])
    try {
      parseDestination(text, POLICY)
      t.fail(text)
    } catch (error) {
      t.notMatch((error as Error).message, /secret/)
    }
  t.end()
})

t.test('the default port of an allowed scheme is allowed', (t) => {
  const policy = { ...POLICY, http: true }
  t.equal(parseDestination('http://a.test', policy).port, 80)
  t.equal(
    codeOf(() => parseDestination('http://a.test:8080', policy)),
    'destination_not_allowed',
  )
  t.end()
})

t.test('the demo is resolved by its name only when it runs', (t) => {
  const policy = { ...POLICY, demoHost: 'demo.sidevault.test' }
  t.equal(parseDestination('https://demo.sidevault.test/x', policy).upstream, 'demo')
  t.equal(parseDestination('https://demo.sidevault.test/x', POLICY).upstream, 'https')
  t.equal(parseDestination('https://demo.sidevault.test.evil.test/', policy).upstream, 'https')
  t.end()
})

t.test('proxy keys are removed from a suffix, and nothing else', (t) => {
  const keys = ['svc-proxy-key', 'bt-proxy-key']
  const cases: readonly (readonly [string, string, string | undefined, string[]])[] = [
    ['/proxy', '', undefined, []],
    ['/proxy/', '', undefined, []],
    ['/proxy//', '//', undefined, []],
    ['/proxy?', '', '', []],
    ['/proxy/a?b', '/a', 'b', []],
    ['/proxy?svc-proxy-key=k', '', undefined, ['k']],
    ['/proxy?a=1&svc-proxy-key=k&b=%32', '', 'a=1&b=%32', ['k']],
    ['/proxy?SVC-Proxy%2DKey=k%20l&bt-proxy-key=m', '', undefined, ['k l', 'm']],
    ['/proxy?x=svc-proxy-key', '', 'x=svc-proxy-key', []],
    ['/proxy/a.b/..c/...', '/a.b/..c/...', undefined, []],
  ]
  for (const [path, suffix, query, proxyKeys] of cases)
    t.same(parseSuffix(path, keys), { path: suffix, query, proxyKeys }, path)
  t.end()
})

t.test('joining keeps base, suffix and both queries', (t) => {
  const join = (base: string, path: string) => joinPath(parseDestination(base, POLICY), parseSuffix(path, []))
  t.equal(join('https://a.test', '/proxy'), '/')
  t.equal(join('https://a.test?x=1', '/proxy'), '/?x=1')
  t.equal(join('https://a.test/b/?x=1', '/proxy/c/?y'), '/b/c/?x=1&y')
  t.equal(join('https://a.test/b', '/proxy?'), '/b?')
  t.end()
})

t.test("the service's own name is not a destination", (t) => {
  const destinations = createDestinations(OPEN)
  const own = (url: string, authority: string, scheme: string) =>
    destinations.isOwn(destinations.parse(url), authority, scheme)
  // Twice: the cached result is the same.
  for (let round = 0; round < 2; round++) {
    t.ok(own('https://vault.test', 'vault.test', 'https'))
    t.ok(own('https://vault.test:443', 'VAULT.test.', 'https'))
    t.ok(own('http://vault.test:8080', 'vault.test:8080', 'http'))
    t.notOk(own('https://vault.test:8443', 'vault.test', 'https'))
    t.notOk(own('https://vault.test', 'vault.test', 'http'))
    t.notOk(own('https://other.test', 'vault.test', 'https'))
    t.notOk(own('https://other.test', ':::', 'https'))
  }
  t.end()
})

t.test('a cached destination equals the first result, and a rejected one stays rejected', (t) => {
  const destinations = createDestinations(POLICY)
  const names = (url: string) => destinations.parse(url).authority
  for (let round = 0; round < 2; round++) {
    t.equal(names('https://a.test/x'), 'a.test')
    t.equal(names('https://caf\u00e9.test'), 'xn--caf-dma.test')
    t.equal(
      codeOf(() => names('https://127.0.0.1')),
      'destination_not_allowed',
    )
    t.equal(
      codeOf(() => names('ftp://a.test')),
      'invalid_destination',
    )
  }
  t.end()
})
