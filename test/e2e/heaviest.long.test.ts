import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { NotExpressible } from '../../src/admin/grpc/codec.ts'
import { loadOperations } from '../../src/commands/operations.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { requestOf } from '../kit/callers.ts'
import { createGrpcClient } from '../kit/grpc.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'

/** CPU milliseconds that a turn of the event loop may take. */
const MOST = 50
const MIB = 1024 * 1024

type Input = Readonly<Record<string, unknown>>

const meter = new URL('../kit/turn-meter.ts', import.meta.url)
const directory = t.testdir()
const turns = join(directory, 'turns')
writeFileSync(turns, '')
const { certificate, ...network } = await startLocalNetwork(t, ['dest.test'])
const operations = await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} })
const vault = await startSidevault({
  env: {
    NODE_OPTIONS: `--import=${meter.href}`,
    SIDEVAULT_TEST_TURNS: turns,
    SIDEVAULT_RATE_LIMIT_PER_KEY: 'none',
    SIDEVAULT_RATE_LIMIT_PER_ADDRESS: 'none',
    SIDEVAULT_RATE_LIMIT_GUESSES: 'none',
    ...network.env,
  },
})
const client = createGrpcClient(`127.0.0.1:${vault.port}`, operations)
t.teardown(async () => {
  client.close()
  await vault.stop()
  rmSync(turns, { force: true })
})

const { managementKey } = vault
const all = await vault.application({
  rules: [
    {
      description: 'all',
      priority: 1,
      container: '/',
      transform: 'reveal',
      permissions: ALL_TOKEN_PERMISSIONS,
    },
  ],
})
const open = await vault.application({ permissions: ['token:create'] }, 'public')

const make = async (path: string, body: unknown, key = managementKey) => {
  const { status, text, json } = await vault.call('POST', path, { key, body })
  if (status >= 300) throw new Error(`${path}: ${text}`)
  return json
}
const many = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index))
const members = (count: number, value: unknown = 1) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, value]))

/** Values that cost the most to build, to walk, or to write, each within 1 MiB. */
const VALUES: Readonly<Record<string, unknown>> = {
  'a text': 'x'.repeat(MIB - 1_000),
  'a text of two bytes a character': 'й'.repeat(MIB / 2 - 1_000),
  'a text of quotes': '"'.repeat(MIB / 2 - 1_000),
  numbers: many(500_000, () => 1),
  'long numbers': many(58_000, (index) => 1_234_567_890_123_456 + index),
  arrays: many(49_000, () => []),
  'arrays within one another': many(800, () => JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)),
  'members of their own names': members(1_900),
  'members of the same names': many(28, () => members(1_900)),
  'members of quoted names': many(7, () => Object.fromEntries(many(1_900, (index) => [`"k${index}`, 1]))),
  'too many names': members(59_000),
  objects: many(58_000, () => ({ a: 1 })),
  strings: many(9_999, (index) => `value ${index}`),
  'more strings': many(200_000, () => 'a'),
  expressions: many(9_999, () => '{{ data }}'),
}
const TEXT = VALUES['a text'] as string
const code = `module.exports = async () => ({})${' '.repeat(49_000)}`
const rules = many(100, (index) => ({
  description: 'd'.repeat(900),
  priority: index + 1,
  container: `/${'c'.repeat(380)}/`,
  transform: 'reveal',
  permissions: many(50, () => 'token:read'),
}))

const large: string[] = []
for (let at = 0; at < 30; at++)
  large.push((await make('/tokens', { data: TEXT, metadata: { of: 'large' } }, all)).id)
const nested: string[] = []
for (let at = 0; at < 20; at++)
  nested.push((await make('/tokens', { data: VALUES.arrays, metadata: { of: 'nested' } }, all)).id)
const small: readonly string[] = await make('/tokenize', VALUES.strings, all)
const wide = (
  await make(
    '/tokens',
    { data: 'wide', metadata: Object.fromEntries(many(50, (index) => [`k${index}`, 'v'.repeat(500)])) },
    all,
  )
).id
for (let at = 0; at < 100; at++)
  await make(
    `/tokens/${wide}/children`,
    { data: 'x', metadata: Object.fromEntries(many(50, (i) => [`k${i}`, 'v'.repeat(500)])) },
    all,
  )
const element = (index: number) => ({ name: `n${index}`, description: 'd'.repeat(900), type: 'string' })
const formulaBody = {
  name: 'f'.repeat(200),
  description: 'd'.repeat(1_000),
  type: 'private',
  icon: `data:image/png;base64,${'A'.repeat(49_000)}`,
  code,
  configuration: many(25, element),
  request_parameters: many(100, (index) => ({ ...element(index), optional: true })),
}
const configuration = Object.fromEntries(many(25, (index) => [`n${index}`, 'v'.repeat(1_000)]))
const proxyBody = {
  name: 'p'.repeat(200),
  destination_url: 'https://demo.sidevault.test',
  request_transform: { code },
  response_transform: { code },
  configuration,
}
const formula = await make('/reactor-formulas', formulaBody)
const reactorBody = { name: 'r', formula: { id: formula.id }, configuration }
const returning = await make('/reactors', {
  name: 'r',
  code: 'module.exports = async ({ args }) => ({ raw: args, tokenize: args.tokenize })',
  configuration: {},
})
for (let at = 0; at < 99; at++) {
  await make('/reactor-formulas', formulaBody)
  await make('/reactors', reactorBody)
  await make('/proxies', proxyBody)
  await make('/applications', { name: 'a', type: 'private', permissions: [], rules })
  await make('/tenants/self/invitations', { email: `${at}@example.com` })
  await make('/sessions', {}, open)
}
const proxy = await make('/proxies', { name: 'p', destination_url: 'https://demo.sidevault.test' })
const application = await make('/applications', { name: 'a', type: 'private', permissions: [], rules })

const id = small[0] as string
const texts = (ids: readonly string[], rest = '') => ids.map((each) => `{{ ${each}${rest} }}`)
const conditions = many(20, () => ({
  attribute: 'container',
  operator: 'equals',
  value: `/${'c'.repeat(380)}/`,
}))
const sessionRules = rules.map(({ container: _, ...rule }) => ({ ...rule, conditions }))
const definitions = (more: object) => many(9_999, (index) => ({ data: index, ...more }))
const query = `${many(3_000, (index) => `metadata.k${index}:v`).join(' OR ')}`
const tokenInputs = [
  ...Object.values(VALUES).map((data) => ({ data })),
  { data: 1, mask: VALUES.expressions },
  { data: 1, metadata: members(58_000, 'v') },
  { data: 'x', search_indexes: many(10, () => '{{ data | upcase | downcase | capitalize | strip }}') },
  {
    data: TEXT,
    search_indexes: many(10, () => '{{ data | upcase | downcase }}'),
    fingerprint_expression: '{{ data }}',
  },
  {
    data: VALUES.numbers,
    fingerprint_expression: '{{ data | stringify }}',
    search_indexes: ['{{ data | json: "$..*" }}'],
  },
  { type: 'card', data: VALUES['members of the same names'] },
  { data: VALUES.numbers, mask: '{{ data | join }}' },
]
const grantInputs = [
  { name: 'n', type: 'private', permissions: [], rules },
  { name: 'n', type: 'private', permissions: many(100, () => 'x'.repeat(9_000)) },
  { name: 'n', type: 'private', permissions: VALUES['more strings'], rules: VALUES.objects },
  { name: 'n', type: 'private', rules: many(100, () => ({ ...rules[0], conditions: many(500, () => []) })) },
]
const page = { page: 1, size: 100 }
const cursor = { size: 100 }
const free = (member: string, base: Input) =>
  Object.values(VALUES).map((value) => ({ ...base, [member]: value }))
const inConfiguration = (base: Input) =>
  Object.values(VALUES).map((value) => ({ ...base, configuration: { a: value } }))

/** Of each operation: its heaviest inputs, besides those that anyone may send to it. */
const HEAVIEST: Readonly<Record<string, readonly Input[]>> = {
  'Access.Diff': grantInputs.map(({ permissions, rules: draft }) => ({
    application: { id: application.id },
    permissions,
    rules: draft,
  })),
  'Access.ListByToken': [{ ...page, id: large[0] }],
  'Applications.Create': grantInputs,
  'Applications.Update': grantInputs.map((each) => ({ ...each, id: application.id })),
  'Applications.List': [page, { ...page, id: many(1_500, () => application.id) }],
  'Applications.Get': [{ id: application.id }],
  'Applications.GetByKey': [{}],
  'Applications.Delete': [{ id: 'x'.repeat(20_000) }],
  'Applications.Regenerate': [{ id: 'x'.repeat(20_000) }],
  'ApplicationKeys.Create': [{ id: application.id }],
  'ApplicationKeys.List': [{ id: application.id }],
  'ApplicationKeys.Get': [{ id: application.id, key_id: 'x'.repeat(20_000) }],
  'ApplicationKeys.Delete': [{ id: application.id, key_id: 'x'.repeat(20_000) }],
  'Permissions.List': [{}],
  'Logs.List': [
    { page: 1, size: 1_000 },
    { page: 5, size: 1_000, entity_type: 'token' },
    { entity_id: 'x'.repeat(20_000) },
  ],
  'Logs.ListEntityTypes': [{}],
  'Members.List': [page],
  'Members.Get': [{ id: 'x' }],
  'Members.Update': [{ id: 'x', role: 'READ' }],
  'Members.Delete': [{ id: 'x' }],
  'Invitations.Create': [{ email: `${'x'.repeat(MIB - 500)}@example.com` }, { email: 'a@example.com' }],
  'Invitations.List': [page],
  'Invitations.Get': [{ id: 'x' }],
  'Invitations.Resend': [{ id: 'x' }],
  'Invitations.Delete': [{ id: 'x' }],
  'Proxies.Create': [
    proxyBody,
    ...inConfiguration({ name: 'p', destination_url: proxyBody.destination_url }),
  ],
  'Proxies.Update': [{ ...proxyBody, id: proxy.id }],
  'Proxies.Patch': inConfiguration({ id: proxy.id }),
  'Proxies.List': [page, { ...page, name: '*a*b*c*d*e*f'.repeat(20) }],
  'Proxies.Get': [{ id: proxy.id }],
  'Proxies.Delete': [{ id: 'x' }],
  'Proxies.CheckCode': [
    { request_transform: proxyBody.request_transform, response_transform: proxyBody.response_transform },
    { request_transform: { code: TEXT } },
  ],
  'Proxies.ListVersions': [{ ...page, id: proxy.id }],
  'ReactorFormulas.Create': [formulaBody, { ...formulaBody, icon: TEXT }, { ...formulaBody, code: TEXT }],
  'ReactorFormulas.Update': [{ ...formulaBody, id: formula.id }],
  'ReactorFormulas.List': [page, { ...page, name: '*a*b*c*d*e*f'.repeat(20) }],
  'ReactorFormulas.Get': [{ id: formula.id }],
  'ReactorFormulas.Delete': [{ id: 'x' }],
  'Reactors.CheckCode': [{ code }, { code: TEXT }],
  'Reactors.Create': [
    reactorBody,
    ...inConfiguration({ name: 'r', code: 'module.exports = async () => ({})' }),
  ],
  'Reactors.Update': [
    {
      ...reactorBody,
      id: returning.id,
      name: 'r',
      formula: null,
      code: 'module.exports = async ({ args }) => ({ raw: args, tokenize: args.tokenize })',
    },
  ],
  'Reactors.Patch': [{ id: 'x', name: 'n' }],
  'Reactors.List': [page, { ...page, name: '*a*b*c*d*e*f'.repeat(20) }],
  'Reactors.Get': [{ id: returning.id }],
  'Reactors.Delete': [{ id: 'x' }],
  'Reactors.React': [
    ...free('args', { id: returning.id }),
    { id: returning.id, args: texts(large.slice(0, 8)) },
    { id: returning.id, args: texts(small) },
    { id: returning.id, args: { tokenize: VALUES.strings } },
  ],
  'Reactors.ReactAsync': [{ id: returning.id, args: texts(small) }],
  'Reactors.GetResult': [{ id: returning.id, request_id: 'x'.repeat(20_000) }],
  'Requests.Destinations': [{}],
  'Requests.List': [cursor],
  'Sessions.Create': [{}],
  'Sessions.Authorize': [
    { nonce: 'x', rules: sessionRules },
    { nonce: 'x', permissions: VALUES['more strings'] },
    { nonce: 'x', rules: VALUES.objects },
  ],
  'Sessions.List': [cursor],
  'Sessions.Delete': [{ id: 'x' }],
  'Tenants.Get': [{}],
  'Tenants.GetUsage': [{}],
  'Tenants.Update': [{ name: 'n', settings: members(59_000, 'x') }, { name: TEXT }],
  'Tenants.Delete': [],
  'Tokens.Create': tokenInputs,
  'Tokens.CreateChild': tokenInputs.slice(0, 3).map((each) => ({ ...each, parent_id: id })),
  'Tokens.Get': [{ id: large[0] }, { id: nested[0] }, { id: wide }],
  'Tokens.Update': [
    ...free('data', { id }),
    { id: nested[0], metadata: { of: 'nested' } },
    { id: nested[0], data: VALUES['members of the same names'] },
    { id, metadata: members(58_000, 'v') },
    { id, mask: VALUES.expressions },
  ],
  'Tokens.Delete': [{ id: 'x'.repeat(20_000) }],
  'Tokens.Associate': [{ parent_id: 'x'.repeat(9_000), child_id: 'y'.repeat(9_000) }],
  'Tokens.Dissociate': [{ parent_id: 'x'.repeat(9_000), child_id: 'y'.repeat(9_000) }],
  'Tokens.ListChildren': [{ parent_id: wide, ...page }],
  'Tokens.List': [
    page,
    { page: 1, size: 30, metadata: { of: 'large' } },
    { page: 1, size: 20, metadata: { of: 'nested' } },
    { ...page, id: small.slice(0, 1_500) },
  ],
  'Tokens.ListByCursor': [
    cursor,
    { size: 30, metadata: { of: 'large' } },
    { size: 20, metadata: { of: 'nested' } },
  ],
  'Tokens.Search': [
    { query: 'metadata.of:large', page: 1, size: 30 },
    { query: 'metadata.of:nested', page: 1, size: 20 },
    { query, ...page },
    { query: TEXT },
    { query: '('.repeat(MIB / 2) },
    { query: `"${'a '.repeat(MIB / 3)}"` },
    { query: `${'NOT '.repeat(MIB / 8)} id:x` },
    { query: many(20_000, (index) => `data:${index}`).join(' OR ') },
  ],
  'Tokens.SearchByCursor': [
    { query: 'metadata.of:large', size: 30 },
    { query, ...cursor },
  ],
  'Tokens.Tokenize': [
    ...Object.values(VALUES),
    ...Object.values(VALUES).map((data) => ({ data })),
    definitions({ mask: '{{ data }}' }),
    definitions({ metadata: { a: 'b' }, search_indexes: ['{{ data }}'] }),
    definitions({ fingerprint_expression: '{{ data }}', deduplicate_token: true }),
    many(9_999, () => ({ type: 'card', data: { number: '4242424242424242' } })),
    many(9_999, () => ({ type: 'card', data: { number: '1' } })),
    many(12_000, () => ({ data: 1, type: 'unknown' })),
    members(9_999, 'x'),
  ].map((body) => ({ body })),
  'Tokens.Detokenize': [
    ...Object.values(VALUES),
    texts(small),
    texts(large),
    texts(large, ' | size'),
    texts(large.slice(0, 15), ' | stringify'),
    [[[[texts(large)]]]],
    many(5, () => texts(nested)),
    many(4, () => [[[texts(nested, ' | stringify')]]]),
    members(9_999, `{{ ${id} }}`),
    many(20_000, () => `{{ ${id} }}`),
    many(9_999, (index) => `{{ unknown-${index} }}`),
    `{{ ${id} }}`.repeat(20_000),
    `{{ ${id} ${'| upcase '.repeat(100_000)}}}`,
    '{{ '.repeat(300_000),
  ].map((body) => ({ body })),
}

interface Turn {
  readonly process: string
  readonly ms: number
}

const longTurns = async (send: () => Promise<unknown>): Promise<readonly Turn[]> => {
  writeFileSync(turns, '')
  await send()
  // Work of a request after its response counts for it.
  await setTimeout(30)
  return readFileSync(turns, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ process: line.split(' ')[0] as string, ms: Number(line.split(' ')[1]) }))
}

const table: string[] = []

/** Requests that take too long are repeated twice, and the median counts: garbage collection may fall into any. */
const judge = async (t: Test, name: string, send: () => Promise<string>): Promise<void> => {
  const longest: number[] = []
  let outcome = ''
  let where = ''
  for (let tries = 1; longest.length < tries; ) {
    const found = await longTurns(async () => {
      outcome = await send()
    })
    const worst = found.toSorted((a, b) => b.ms - a.ms)[0]
    longest.push(worst?.ms ?? 0)
    if ((worst?.ms ?? 0) > MOST) tries = 3
    where = worst?.process ?? where
  }
  const middle = longest.toSorted((a, b) => a - b)[longest.length >> 1] as number
  if (middle > 0) table.push(`${middle.toFixed(0).padStart(5)} ms  ${where.padEnd(8)} ${name} (${outcome})`)
  t.ok(middle <= MOST, `${name} (${outcome}): ${longest.join(', ')} ms in ${where}`)
}

const keyOf = ({ rpc, permission }: Operation) =>
  rpc === 'Sessions.Create'
    ? open
    : permission.startsWith('token:') || rpc === 'Sessions.Authorize'
      ? all
      : managementKey

const overHttp =
  (operation: Operation, input: Input, headers: Record<string, string> = {}) =>
  async () => {
    const { method, path, body } = requestOf(operation, input)
    const { status, text } = await vault.call(method, path, {
      key: keyOf(operation),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    })
    return `${status}, ${text.length} bytes${status >= 400 ? ` ${text.slice(0, 150)}` : ''}`
  }

const overGrpc = (operation: Operation, input: Input) => async () => {
  try {
    const metadata = { 'svc-api-key': keyOf(operation) }
    const { code, message } = await client.call(operation.rpc, { ...input }, { metadata })
    return `code ${code} ${message.slice(0, 100)}`
  } catch (thrown) {
    if (thrown instanceof NotExpressible) return 'not expressible'
    throw thrown
  }
}

for (const operation of operations) {
  const heaviest = HEAVIEST[operation.rpc]
  t.test(operation.rpc, async (t) => {
    if (heaviest === undefined) return t.fail('its heaviest requests are not known: add them to HEAVIEST')
    for (const [index, input] of heaviest.entries()) {
      const shown = `${operation.rpc} ${index} ${JSON.stringify(input).slice(0, 60)}`
      await judge(t, `${shown} http`, overHttp(operation, input))
      await judge(t, `${shown} grpc`, overGrpc(operation, input))
    }
  })
}

const uuids = small.slice(0, 9_900)
const long = 8 * MIB - 1_000
const filled = (unit: string, size = long) => unit.repeat(Math.floor(size / unit.length))
const part = (type: string, body: string) =>
  `--b\r\ncontent-disposition: form-data; name="a"\r\ncontent-type: ${type}\r\n\r\n${body}\r\n`

/** Bodies of `/proxy` by content type; the most that is read is 8 MiB. */
const BODIES: readonly (readonly [type: string, body: string])[] = [
  ['application/json', JSON.stringify(texts(uuids))],
  ['application/json', JSON.stringify(texts(large.slice(0, 7)))],
  ['application/json', `["{{ ${id} }}"${filled(',[]', 300_000)}]`],
  ['application/json', `["{{ ${id} }}"${filled(',[]')}]`],
  ['application/json', `["{{ ${id} }}"${filled(',1')}]`],
  ['application/json', `["{{ ${id} }}"${filled(',"a"')}]`],
  ['application/json', `["{{ ${id} }}"${filled(',"{{"')}]`],
  ['application/json', `["{{ ${id} }}",{"a":1${filled(',"b":1')}}]`],
  ['application/json', `["{{ ${id} }}","${filled('\\u0041')}"]`],
  ['application/json', `["{{ ${id} }}","${filled('x')}"]`],
  ['application/json', `["{{ ${id} }}",${'['.repeat(4_000_000)}`],
  ['application/json', `"${filled(`{{ ${id} }}`, 900_000)}"`],
  [
    'application/x-ndjson',
    texts(uuids)
      .map((text) => JSON.stringify({ text }))
      .join('\n'),
  ],
  ['application/x-ndjson', `"{{ ${id} }}"\n${filled('{}\n')}`],
  [
    'application/xml',
    `<a>${texts(uuids)
      .map((text) => `<b>${text}</b>`)
      .join('')}</a>`,
  ],
  ['application/xml', `<a>{{ ${id} }}${filled('<b c="d"/>')}</a>`],
  ['application/xml', `<a>{{ ${id} }}${filled('&amp;')}</a>`],
  ['application/xml', `<a>{{ ${id} }}${filled('<b>')}`],
  ['text/csv', texts(uuids).join('\n')],
  ['text/csv', `{{ ${id} }}${filled(',a')}`],
  ['text/csv', `{{ ${id} }}${filled('\n"a"')}`],
  [
    'application/x-www-form-urlencoded',
    texts(uuids)
      .map((text) => `a=${encodeURIComponent(text)}`)
      .join('&'),
  ],
  ['application/x-www-form-urlencoded', `a={{ ${id} }}${filled('&a=b')}`],
  ['application/x-www-form-urlencoded', `a={{ ${id} }}${filled('%41')}`],
  ['text/plain', texts(uuids).join(' ')],
  ['text/plain', `{{ ${id} }}${filled('{{ ')}`],
  ['text/plain', `{{ ${id} }}${filled('{ ')}`],
  [
    'multipart/form-data; boundary=b',
    `${texts(uuids.slice(0, 900))
      .map((text) => part('text/plain', text))
      .join('')}--b--`,
  ],
  ['multipart/form-data; boundary=b', `${part('application/json', `["{{ ${id} }}"${filled(',1')}]`)}--b--`],
  [
    'multipart/form-data; boundary=b',
    `${part('text/plain', `{{ ${id} }}`)}${filled(part('text/plain', 'a'))}--b--`,
  ],
  ['multipart/form-data; boundary=b', `${part('text/plain', `{{ ${id} }}${filled('\r\n--a')}`)}--b--`],
]

const proxied =
  (body: string | Buffer | undefined, headers: Record<string, string>, path = '/proxy') =>
  async () => {
    const { status, text } = await vault.call('POST', path, {
      key: all,
      ...(body === undefined ? {} : { body }),
      headers: headers['svc-proxy-key']
        ? headers
        : { 'svc-proxy-url': 'https://demo.sidevault.test', ...headers },
    })
    return `${status}, ${text.length} bytes${status >= 400 ? ` ${text.slice(0, 150)}` : ''}`
  }

t.test('/proxy', async (t) => {
  for (const [type, body] of BODIES) {
    const shown = `/proxy ${type} ${body.slice(0, 40)} … ${body.slice(-20)}`
    await judge(t, shown, proxied(body, { 'content-type': type }))
    await judge(t, `${shown} streamed`, proxied(body, { 'content-type': type, 'svc-proxy-stream': 'true' }))
  }
  const headers = Object.fromEntries(many(90, (index) => [`x-${index}`, 'v'.repeat(500)]))
  await judge(t, '/proxy with many headers', proxied(undefined, headers))
})

/** Bytes of a body that code is given. */
const codeBytes = 4_990_000
const ofCode = (unit: string) => filled(unit, codeBytes)

/** Bodies for transforms, as requests and as responses. */
const TRANSFORMED: readonly (readonly [type: string, body: string])[] = [
  ['application/json', `["${ofCode('x')}"]`],
  ['application/json', `["${ofCode('\\u0041')}"]`],
  ['application/json', `["${ofCode('й').slice(0, codeBytes / 2 - 10)}"]`],
  ['application/json', `[${ofCode('1,')}1]`],
  ['application/json', `[${ofCode('12345678.9,')}1]`],
  ['application/json', `[${ofCode('"a",')}1]`],
  ['application/json', `[${ofCode('[],')}1]`],
  ['application/json', `[${ofCode('{"a":1},')}1]`],
  ['application/json', `{${ofCode('"b":1,')}"c":1}`],
  ['application/json', JSON.stringify(members(300_000))],
  ['application/json', JSON.stringify(many(100, () => members(2_000)))],
  ['application/json', `[${ofCode(`${'['.repeat(60)}${']'.repeat(60)},`)}1]`],
  ['application/json; charset=iso-8859-1', `["${ofCode('x')}"]`],
  ['application/x-www-form-urlencoded', ofCode('a=b&')],
  ['application/x-www-form-urlencoded', ofCode('%41')],
  ['application/x-www-form-urlencoded', `a=${ofCode('+')}`],
  ['application/x-www-form-urlencoded', many(300_000, (index) => `k${index}=1`).join('&')],
]

/** Code whose results are much larger than its arguments: up to 10 MiB. */
const RESULTS = {
  text: "'x'.repeat(9e6)",
  numbers: 'Array(4e6).fill(1)',
  arrays: 'Array.from({ length: 1e6 }, () => [])',
  'members of their own names': "Object.fromEntries(Array.from({ length: 3e5 }, (_, i) => ['k' + i, 1]))",
}

t.test('transforms', async (t) => {
  const server = createServer(certificate, (request, response) => {
    request.resume().on('end', () => {
      const [type, body] = TRANSFORMED[Number(request.url?.slice(1))] ?? ['text/plain', '']
      const compressed = request.headers['accept-encoding'] === 'gzip'
      const headers = { 'content-type': type, ...(compressed ? { 'content-encoding': 'gzip' } : {}) }
      response.writeHead(200, headers).end(compressed ? gzipSync(body) : body)
    })
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const destination_url = `https://dest.test:${(server.address() as AddressInfo).port}`
  const identity = { code: 'module.exports = async ({ args: { body, headers } }) => ({ body, headers })' }
  const proxyOf = async (transforms: Input): Promise<Record<string, string>> => ({
    'svc-proxy-key': (await make('/proxies', { name: 'p', destination_url, ...transforms })).key,
  })
  const requests = await proxyOf({ request_transform: identity })
  const responses = await proxyOf({ response_transform: identity })
  for (const [index, [type, body]] of TRANSFORMED.entries()) {
    const shown = `${index} ${type} ${body.slice(0, 20)} … ${body.slice(-20)}`
    const headers = { ...requests, 'content-type': type }
    await judge(t, `request transform ${shown}`, proxied(body, headers, '/proxy/none'))
    await judge(t, `response transform ${shown}`, proxied(undefined, responses, `/proxy/${index}`))
    const coded = { ...responses, 'accept-encoding': 'gzip' }
    await judge(t, `response transform, gzip ${shown}`, proxied(undefined, coded, `/proxy/${index}`))
  }
  for (const [name, value] of Object.entries(RESULTS)) {
    const body = `module.exports = async () => ({ body: ${value}, headers: { 'content-type': 'application/json' } })`
    const headers = await proxyOf({ request_transform: { code: body } })
    await judge(t, `transform that returns ${name}`, proxied('{}', headers, '/proxy/none'))
    const raw = `module.exports = async () => ({ raw: ${value} })`
    const { id } = await make('/reactors', { name: 'r', code: raw, configuration: {} })
    const react = operations.find(({ rpc }) => rpc === 'Reactors.React') as Operation
    await judge(t, `reactor that returns ${name}`, overHttp(react, { id, args: {} }))
    await judge(t, `reactor that returns ${name} grpc`, overGrpc(react, { id, args: {} }))
  }
})

t.test('compressed bodies', async (t) => {
  for (const [type, body] of BODIES) {
    const shown = `/proxy gzip ${type} ${body.slice(0, 40)} … ${body.slice(-20)}`
    const compressed = gzipSync(body)
    const headers = { 'content-type': type, 'content-encoding': 'gzip' }
    await judge(t, shown, proxied(compressed, headers))
  }
})

t.test('idempotency records', async (t) => {
  const one = operations.find(({ rpc }) => rpc === 'Tokens.Tokenize') as Operation
  const inputs = (HEAVIEST[one.rpc] ?? [])
    .slice(0, 3)
    .concat([{ body: definitions({ metadata: { a: 'b' } }) }])
  for (const [index, input] of inputs.entries()) {
    const again = { 'svc-idempotency-key': `same-${index}` }
    let count = 0
    await judge(t, `stored ${index}`, () =>
      overHttp(one, input, { 'svc-idempotency-key': `${index}-${count++}` })(),
    )
    await judge(t, `repeated ${index}`, overHttp(one, input, again))
  }
})

t.test('records of large calls being stored', async (t) => {
  for (const rpc of ['Tokens.Tokenize', 'Tokens.Detokenize'] as const) {
    const operation = operations.find((one) => one.rpc === rpc) as Operation
    const body = rpc === 'Tokens.Tokenize' ? VALUES.strings : texts(small)
    await judge(t, `ingest after ${rpc}`, async () => {
      const outcome = await overHttp(operation, { body })()
      // 10,000 records at 250 a write, looked for every 200 ms.
      await setTimeout(5_000)
      return outcome
    })
  }
})

t.test('pages', async (t) => {
  for (const path of ['/metrics', '/openapi.json', '/docs', '/readyz'])
    await judge(t, path, async () => String((await vault.call('GET', path)).status))
  const { text } = await vault.call('GET', '/metrics')
  t.match(text, /^nodejs_eventloop_lag_max_seconds\{.*process="gateway-\d"/m, 'operators see the delay')
})

t.test('the longest turns', async (t) => {
  for (const line of table.toSorted().toReversed()) t.comment(line)
})
