import fc from 'fast-check'
import t from 'tap'
import { parseJson } from '../../src/common/parse-json.ts'
import { sourcesIn } from '../kit/sources.ts'

/** Objects like these make `JSON.parse` of V8 misread later names (nodejs/node#63785). */
const EARLIER = ['{"a":1,"\\\\":2}', '{"a":1,"stra\\\\u":2}', '{"a":1,"\\\\\\\\":2}', '{"a":1,"\\\\u0":{}}']

const NAMES = [
  ['"\\ud83d"', '\ud83d'],
  ['"\\u0061"', 'a'],
  ['"\\n"', '\n'],
  ['"\\""', '"'],
  ['"stra\\u00dfe"', 'straße'],
  ['"\\\\x"', '\\x'],
  ['"\\u0030bc"', '0bc'],
  ['"\\u005f_proto__"', '__proto__'],
] as const

t.test('an escaped name is read as written, after any object', (t) => {
  for (const earlier of EARLIER)
    for (const [literal, name] of NAMES) {
      parseJson(earlier)
      const parsed = parseJson(`{"a":1, ${literal} : {"b":[{${literal}:1}]}}`) as Record<string, unknown>
      t.strictSame(Object.keys(parsed), name === 'a' ? ['a'] : ['a', name], `${earlier} ${literal}`)
      const inner = (Object.entries(parsed).at(-1)?.[1] as { b: [object] } | undefined)?.b[0] ?? {}
      t.strictSame(Object.entries(inner), [[name, 1]])
      t.equal(Object.getPrototypeOf(inner), Object.prototype)
    }
  t.end()
})

t.test('of duplicate names the last counts, however they are escaped', (t) => {
  t.strictSame(parseJson('{"1":"a","\\u0031":"b"}'), { 1: 'b' })
  t.strictSame(parseJson('{"\\u0031":"b","1":"a"}'), { 1: 'a' })
  t.strictSame(parseJson('{"\\u0022":1,"x":2,"\\"":3,"\\u0078":4}'), { '"': 3, x: 4 })
  t.end()
})

t.test('text that is not JSON is a SyntaxError', (t) => {
  for (const text of [
    '',
    '{\\"a":1}',
    '["b",\\"a":1]',
    '{"a\\',
    '{"a\\"',
    '{"\\u00":1}',
    '"\\u0061":',
    '[1,]',
    '{"\\n":1',
  ])
    t.throws(() => parseJson(text), { name: 'SyntaxError' }, text)
  t.end()
})

t.test('any value survives printing and parsing', (t) => {
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\\', '"', '\\u', '\n', '', '\ud83d', 'a', '1', '__proto__'),
  )
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.boolean()),
      fc.array(tie('node'), { maxLength: 4 }),
      fc.dictionary(name, tie('node'), { maxKeys: 4 }),
    ),
  }))
  const ascii = (json: string) =>
    json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  /** Names and values in order: prototypes of generated objects differ. */
  const pairs = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(pairs)
      : typeof value === 'object' && value !== null
        ? { members: Object.entries(value).map(([own, inner]) => [own, pairs(inner)]) }
        : value
  fc.assert(
    fc.property(node, (value) => {
      const text = JSON.stringify(value)
      const wanted = JSON.stringify(pairs(value))
      return (
        JSON.stringify(pairs(parseJson(text))) === wanted &&
        JSON.stringify(pairs(parseJson(ascii(text)))) === wanted
      )
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

/** Files that parse text whose names are ours, or strings only. */
const PARSES_OWN_TEXT = [
  'plugins/transit/key-provider.ts',
  'src/audit/checkpoint.ts',
  'src/audit/line.ts',
  'src/commands/plugins/task-templates.ts',
  'src/commands/proto/files.ts',
  'src/commands/reload.ts',
  'src/commands/run/service.ts',
  'src/commands/running-service.ts',
  'src/commands/status.ts',
  'src/common/cursor.ts',
  'src/common/parse-json.ts',
  'src/common/serve-socket.ts',
  'src/common/unix-http.ts',
  'src/common/version.ts',
  'src/config/read.ts',
  'src/gateway/body/json-scan.ts',
  'src/gateway/body/places.ts',
  'src/gateway/status-server.ts',
  'src/kernel/check/examples.ts',
  'src/kernel/load/discover.ts',
  'src/kernel/load/import-module.ts',
  'src/maintenance/encrypted-archive.ts',
  'src/maintenance/production.ts',
  'src/roles/destination-clusters.ts',
  'src/roles/node-health.ts',
  'src/sandbox/child/boot.js',
  'src/sandbox/child/context.ts',
  'src/sandbox/child/invocation.ts',
  'src/sandbox/child/reported-outcome.ts',
  'src/sandbox/frames.ts',
  'src/sandbox/realm/abi.ts',
  'src/sandbox/realm/guest/fetch/body.ts',
  'src/sandbox/realm/host-functions/host.ts',
  'src/sandbox/realm/sources.ts',
  'src/store/reencrypt/commands.ts',
  'src/store/tenants/row.ts',
  'src/supervisor/demo-destination.ts',
  'src/supervisor/envoy.ts',
]

t.test('text with reserved names is parsed by parseJson', (t) => {
  // A page of the console parses texts of one tenant, in a browser.
  const calling = sourcesIn('src', 'plugins').filter(
    ({ path, text }) => !path.startsWith('src/console/') && text.includes('JSON.parse('),
  )
  t.strictSame(calling.map(({ path }) => path).sort(), PARSES_OWN_TEXT)
  t.end()
})
