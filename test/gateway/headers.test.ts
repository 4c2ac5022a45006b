import t from 'tap'
import {
  checkHead,
  type Head,
  headerRules,
  isFlagSet,
  methodOf,
  prefixed,
  prefixOf,
  storedMethod,
  strippedNames,
  traceIdOf,
} from '../../src/gateway/headers.ts'

const rules = headerRules(['SVC', 'BT', 'svc'])
const head = (headers: Record<string, string | string[]>): Head =>
  new Map(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value : [value]]))

t.test('header prefixes are lower case, each once, the first canonical', (t) => {
  t.same(rules.prefixes, ['svc', 'bt'])
  t.same(rules.keyParameters, ['svc-proxy-key', 'bt-proxy-key'])
  t.throws(() => headerRules([]))
  t.end()
})

t.test('the header prefix is that of the credential, then of the destination, then of the trace id', (t) => {
  t.equal(prefixOf(head({}), rules), 'svc')
  t.equal(prefixOf(head({ 'bt-trace-id': 'x' }), rules), 'bt')
  t.equal(prefixOf(head({ 'bt-api-key': 'x', 'svc-trace-id': 'y' }), rules), 'bt')
  t.equal(prefixOf(head({ 'bt-api-key': 'x', 'svc-api-key': 'y' }), rules), 'svc')
  t.end()
})

t.test('a header may use either prefix, but not both', (t) => {
  t.equal(prefixed(head({ 'bt-api-key': 'b' }), rules, 'apiKey'), 'b')
  t.equal(prefixed(head({ 'bt-api-key': 'b', 'svc-api-key': 's' }), rules, 'apiKey'), 's')
  t.equal(prefixed(head({ 'svc-api-key': '' }), rules, 'apiKey'), undefined)
  t.throws(() => prefixed(head({ 'svc-api-key': ['a', 'b'] }), rules, 'apiKey'), { code: 'malformed' })
  t.end()
})

t.test('a dry run is requested with either prefix and exact values; its header is not forwarded', (t) => {
  t.equal(isFlagSet(head({}), rules, 'dryRun'), false)
  t.equal(isFlagSet(head({ 'svc-proxy-dry-run': 'false' }), rules, 'dryRun'), false)
  t.equal(isFlagSet(head({ 'bt-proxy-dry-run': 'True' }), rules, 'dryRun'), true)
  for (const value of ['1', 'yes', ['true', 'false']])
    t.throws(() => isFlagSet(head({ 'svc-proxy-dry-run': value }), rules, 'dryRun'), { code: 'malformed' })
  t.same(strippedNames(head({ 'bt-proxy-dry-run': 'true', accept: 'a' }), rules), ['bt-proxy-dry-run'])
  t.end()
})

t.test('a trace id of 1 to 200 printable characters is kept', (t) => {
  const retained = ['a', 'a b', '~!', 'x'.repeat(200)]
  for (const id of retained) t.equal(traceIdOf(head({ 'svc-trace-id': id }), 'svc-trace-id'), id)
  for (const id of ['', ' a', 'a ', 'a\tb', 'a\x7f', '\u00e9', 'x'.repeat(201)])
    t.match(traceIdOf(head({ 'svc-trace-id': id }), 'svc-trace-id'), /^[0-9a-f]{32}$/)
  t.match(traceIdOf(head({ 'svc-trace-id': ['a', 'b'] }), 'svc-trace-id'), /^[0-9a-f]{32}$/)
  t.end()
})

t.test('own, hop-by-hop, nominated and malformed headers are stripped', (t) => {
  const stripped = strippedNames(
    head({
      ':path': '/',
      'svc-api-key': 'k',
      'bt-proxy-url': 'u',
      'svc-idempotency-key': 'i',
      'idempotency-key': 'of the destination',
      'svc-trace-id': 't',
      te: 'x',
      'x-sidevault-connection': 'X-Hop, content-length, :path, host',
      'x-hop': 'h',
      'content-length': '3',
      'x.y': 'z',
      authorization: 'a',
    }),
    rules,
  )
  t.same(stripped.sort(), [
    'bt-proxy-url',
    'svc-api-key',
    'svc-idempotency-key',
    'te',
    'x-hop',
    'x-sidevault-connection',
    'x.y',
  ])
  t.end()
})

t.test('a caller may send 100 header lines, without those of Envoy, and 60 KiB', (t) => {
  const lines = (count: number) => Array.from({ length: count }, () => 'v')
  const envoys = { ':method': 'POST', 'x-sidevault-connection': 'close', 'x-forwarded-proto': 'http' }
  checkHead(head({ ...envoys, 'x-a': lines(60), 'x-b': lines(40) }))
  checkHead(head({ 'x-a': 'v'.repeat(60 * 1024 - 3) }))
  for (const sent of [{ 'x-a': lines(60), 'x-b': lines(41) }, { 'x-a': 'v'.repeat(60 * 1024 - 2) }])
    t.throws(() => checkHead(head(sent)), { code: 'headers_too_large', status: 431 })
  t.end()
})

t.test('a method has at most 32 characters, and no more are stored', (t) => {
  const longest = 'M'.repeat(32)
  t.equal(methodOf(head({ ':method': longest })), longest)
  t.throws(() => methodOf(head({ ':method': `${longest}M` })), { code: 'malformed', status: 400 })
  t.equal(storedMethod(head({ ':method': `${longest}M` })), longest)
  t.end()
})
