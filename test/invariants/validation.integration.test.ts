import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { isObject } from '../../src/common/json.ts'
import { methodOf, pathOf, pathParams } from '../../src/kernel/check/operation.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { startCallers } from '../kit/callers.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { type Issue, issuesOf, sampleOf } from '../kit/samples.ts'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

type Input = Readonly<Record<string, unknown>>

const service = await startTestService(t)
const callers = await startCallers(t, service)
const { call, managementKey } = service
const privateKey = await service.application({ permissions: ALL_TOKEN_PERMISSIONS })
const publicKey = await service.application({ permissions: ['token:create'] }, 'public')

const make = async (path: string, body: object, key = managementKey) => {
  const response = await call('POST', path, { key, body })
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}
const code = 'module.exports = async () => ({})'
const number = '4242424242424242'
const card = await make('/tokens', { type: 'card', data: { number } }, privateKey)
const application = await make('/applications', { name: 'a', type: 'private', permissions: ['token:read'] })
const management = await make('/applications', { name: 'm', type: 'management', permissions: ['log:read'] })
const proxyBody = { name: 'p', destination_url: 'https://api.example.com' }
const proxy = await make('/proxies', proxyBody)
const formulaBody = { name: 'f', type: 'private', code, configuration: [{ name: 'account', type: 'string' }] }
const formula = await make('/reactor-formulas', formulaBody)
const reactorBody = { name: 'r', formula: { id: formula.id }, configuration: { account: 'x' } }
const reactor = await make('/reactors', reactorBody)
const webhookBody = { name: 'w', url: 'https://hooks.example.com', events: ['token.created'] }
const webhook = await make('/webhooks', webhookBody)
const invitation = await make('/tenants/self/invitations', { email: 'a@example.com' })
const member = await service.kernel.registry.ports.members!.acceptInvitation(
  service.tenantId,
  invitation.id,
  'user',
)
const { nonce } = await make('/sessions', {}, publicKey)

const grants = { permissions: ['token:read'] }
const rule = {
  description: 'd',
  priority: 1,
  container: '/a/',
  transform: 'mask',
  permissions: ['token:read'],
}
const condition = { attribute: 'container', operator: 'equals', value: '/a/' }

/** For each operation that takes a body: an input with which it succeeds. */
const VALID: Readonly<Record<string, Input>> = {
  'Access.Diff': { application: { id: application.id }, permissions: ['token:read'] },
  'Applications.Create': { name: 'n', type: 'private', ...grants, rules: [rule] },
  'Applications.Update': { id: application.id, name: 'n', ...grants, rules: [rule] },
  'Members.Update': { id: member, role: 'READ' },
  'Invitations.Create': { email: 'c@example.com' },
  'Proxies.Create': { ...proxyBody, configuration: {} },
  'Proxies.Update': { id: proxy.id, ...proxyBody },
  'Proxies.Patch': { id: proxy.id, name: 'n' },
  'ReactorFormulas.Create': { ...formulaBody, icon: 'data:image/png;base64,AAAA' },
  'ReactorFormulas.Update': { id: formula.id, ...formulaBody },
  'Reactors.Create': reactorBody,
  'Reactors.Update': { id: reactor.id, ...reactorBody },
  'Reactors.Patch': { id: reactor.id, name: 'n' },
  'Reactors.React': { id: reactor.id, args: {} },
  'Reactors.ReactAsync': { id: reactor.id, args: {} },
  'Sessions.Authorize': { nonce, ...grants, rules: [{ ...rule, conditions: [condition], container: null }] },
  'Tenants.Update': { name: 'n', settings: { deduplicate_tokens: 'false' } },
  'Tokens.Create': { type: 'card', data: { number } },
  'Tokens.CreateChild': { parent_id: card.id, data: 'x' },
  'Tokens.Update': { id: card.id, metadata: { a: 'b' } },
  'Tokens.Search': { query: 'type:card' },
  'Tokens.SearchByCursor': { query: 'type:card' },
  'Tokens.Tokenize': { body: ['x', { type: 'card', data: { number } }] },
  'Tokens.Detokenize': { body: [`{{ ${card.id} }}`] },
  'Webhooks.Create': { ...webhookBody, status: 'enabled', include_metadata: true },
  'Webhooks.Update': { id: webhook.id, ...webhookBody },
}

type Change = readonly [path: string, change: Input]

const many = (count: number, of: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => of(index))
const members = (count: number) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, 'v']) as [string, string][])

/** Rules beyond the schemas of tokens: changes of a valid input, and the path of the issue. */
const tokenIssues: readonly Change[] = [
  ['metadata', { metadata: members(51) }],
  ['metadata.a', { metadata: { a: 'x'.repeat(501) } }],
  ['metadata', { metadata: { 'a b': 'x' } }],
  ['search_indexes', { search_indexes: many(11, () => '{{ data }}') }],
  ['search_indexes[0]', { search_indexes: ['x'.repeat(401)] }],
  ['search_indexes[0]', { search_indexes: ['{{ data'] }],
  ['fingerprint_expression', { fingerprint_expression: '{{ data' }],
  ['mask', { mask: 7 }],
  ['containers', { containers: ['/a/', '/b/'] }],
  ['containers[0]', { containers: ['a b'] }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
]
const createIssues: readonly Change[] = [
  ['id', { id: 'ab' }],
  ['id', { id: 'a/b/c' }],
  ['type', { type: 'unknown' }],
  ['type', { type: 'x'.repeat(51) }],
  ['data.number', { type: 'card', data: { number: '4242424242424241' } }],
  ...tokenIssues,
]
const grantIssues: readonly Change[] = [
  ['permissions', { permissions: [], rules: [] }],
  ['permissions', { permissions: ['tenant:delete'] }],
  ['permissions', { permissions: ['unknown'] }],
  ['rules[1].priority', { rules: [rule, rule] }],
  ['rules[0].permissions', { rules: [{ ...rule, permissions: ['tenant:delete'] }] }],
  ['rules[0].container', { rules: [{ ...rule, container: null }] }],
]
/** Of what expires: applications and sessions. */
const expiryIssues: readonly Change[] = [
  ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
  ['expires_at', { expires_at: 'tomorrow' }],
]
/** Beyond the text that a configuration may hold. */
const longConfiguration: Change = ['configuration', { configuration: { a: 'x'.repeat(50_000) } }]
const proxyIssues: readonly Change[] = [
  ...[
    'nowhere',
    'ftp://x',
    'http://api.example.com',
    'https://user:word@api.example.com',
    'https://127.0.0.1/',
    'https://169.254.169.254/latest',
    'https://api.example.com:8443',
  ].map((destination_url): Change => ['destination_url', { destination_url }]),
  longConfiguration,
  ['application.id', { application: { id: 'unknown' } }],
  ['application.id', { application: { id: management.id } }],
]
const formulaIssues: readonly Change[] = [
  ['icon', { icon: 'https://example.com/icon.png' }],
  ['icon', { icon: 'data:image/gif;base64,AAAA' }],
  ['icon', { icon: 'data:image/png;base64,<svg>' }],
  ['configuration[0].name', { configuration: [{ name: 'a.b', type: 'string' }] }],
  ['configuration[1].name', { configuration: many(2, () => ({ name: 'a', type: 'string' })) as unknown[] }],
  ['request_parameters[0].name', { request_parameters: [{ name: 'a..b', type: 'string' }] }],
  ['request_parameters[0].name', { request_parameters: [{ name: '.a', type: 'string' }] }],
  [
    'request_parameters[1].name',
    { request_parameters: many(2, () => ({ name: 'a', type: 'string' })) as unknown[] },
  ],
]
const reactorIssues: readonly Change[] = [
  ['formula.id', { formula: { id: 'unknown' } }],
  ['code', { code }],
  ['configuration.account', { configuration: { account: null } }],
  ['application.id', { application: { id: management.id } }],
  ['application.id', { application: { id: 'unknown' } }],
  longConfiguration,
]
const webhookIssues: readonly Change[] = [
  ...[
    'nowhere',
    'http://hooks.example.com',
    'https://user:word@hooks.example.com',
    'https://localhost/',
    ...PROBES.map((host) => `https://${host}/`),
  ].map((url): Change => ['url', { url }]),
  ['events[1]', { events: ['token.created', 'token.create'] }],
]
const reactIssues: readonly Change[] = [['callback_url', { callback_url: 'http://api.example.com' }]]
const ISSUES: Readonly<Record<string, readonly Change[]>> = {
  'Applications.Create': [
    ...grantIssues,
    ['rules[0].conditions', { rules: [{ ...rule, conditions: [condition] }] }],
    ['rules[0].conditions', { rules: [{ ...rule, container: null, conditions: [condition] }] }],
    ...expiryIssues,
  ],
  'Applications.Update': [...grantIssues, ['type', { type: 'public' }]],
  'Proxies.Create': proxyIssues,
  'Proxies.Update': proxyIssues,
  'Proxies.Patch': [...proxyIssues, ['name', { name: null }], ['destination_url', { destination_url: null }]],
  'ReactorFormulas.Create': formulaIssues,
  'ReactorFormulas.Update': formulaIssues,
  'Reactors.Create': [...reactorIssues, ['formula', { formula: null, code: null }]],
  'Reactors.Update': reactorIssues,
  'Reactors.React': reactIssues,
  'Reactors.ReactAsync': reactIssues,
  'Reactors.Patch': [...reactorIssues, ['name', { name: null }], ['formula', { formula: null, code: null }]],
  'Sessions.Authorize': [
    ...grantIssues,
    ['permissions', { permissions: null, rules: null }],
    ['rules[0].conditions', { rules: [{ ...rule, conditions: [condition] }] }],
    [
      'rules[0].conditions[0].value',
      { rules: [{ ...rule, container: null, conditions: [{ ...condition, value: 'a b' }] }] },
    ],
    ...expiryIssues,
  ],
  'Tokens.Create': createIssues,
  'Tokens.CreateChild': createIssues,
  'Tokens.Update': [
    ...tokenIssues,
    ['data', { data: null }],
    ['data.number', { data: { number: '4242424242424241' } }],
    ['metadata', { metadata: members(51) }],
  ],
  'Tokens.Tokenize': [
    ['[1].data.number', { body: ['x', { type: 'card', data: { number: '1' } }] }],
    ['a[1].type', { body: { a: ['x', { type: 'unknown', data: 1 }] } }],
  ],
  'Webhooks.Create': webhookIssues,
  'Webhooks.Update': webhookIssues,
}

const db = new Database(join(service.directory, 'vault.db'), { readonly: true })
t.teardown(() => db.close())
const tables = db.prepare<[], { name: string }>("select name from sqlite_schema where type = 'table'").all()

/** All rows of all tables, how often anything was committed, and how much the journal holds. */
const state = () => ({
  rows: tables.map(({ name }) => [name, JSON.stringify(db.prepare(`select * from "${name}"`).raw().all())]),
  commits: db.pragma('data_version', { simple: true }),
  journal: readdirSync(join(service.directory, 'audit')).map((file) => [
    file,
    statSync(join(service.directory, 'audit', file)).size,
  ]),
})

const keyOf = ({ rpc, permission }: Operation) =>
  permission.startsWith('token:') || rpc === 'Sessions.Authorize' ? privateKey : managementKey

/**
 * Invalid forms of an input: those that its schema describes, without path and whole body, and those of the table
 * above.
 */
const issuesFor = (operation: Operation, valid: Input): readonly Issue[] => {
  const inPath = pathParams(pathOf(operation))
  const declared = issuesOf(operation.input as object, valid).filter(
    ({ path, value }) => ![operation.body ?? '', '', ...inPath].includes(path) && isObject(value),
  )
  const further = (ISSUES[operation.rpc] ?? []).map(([path, change]) => ({
    path,
    what: JSON.stringify(change).slice(0, 80),
    value: { ...valid, ...change },
  }))
  return [...declared, ...further]
}

const takesBody = (operation: Operation) => {
  const inPath = pathParams(pathOf(operation))
  const names = Object.keys((operation.input as { properties?: object }).properties ?? {})
  return (
    ['POST', 'PUT', 'PATCH'].includes(methodOf(operation)) && names.some((name) => !inPath.includes(name))
  )
}

const running = db.prepare(
  "select 1 from records where collection = 'reactor_requests' and body not like '%$sealed%'",
)

/** Returns when invocations in the background have their results, their last writes. */
const backgroundEnds = async () => {
  while (running.get() !== undefined) await setImmediate()
}

let walked = 0
for (const operation of service.kernel.registry.operations.filter(takesBody))
  t.test(`${operation.rpc}: what is not valid is 400 at its place, and changes nothing`, async (t) => {
    const valid = VALID[operation.rpc] ?? (sampleOf(operation.input as object) as Input)
    const key = keyOf(operation)
    const before = state()
    for (const { path, what, value } of issuesFor(operation, valid))
      for (const transport of ['http', 'grpc'] as const) {
        const response = await callers[transport](operation, value as Input, key)
        // proto3 has no way to say it, so there is nothing to reject.
        if (response === undefined) continue
        walked++
        const name = `${path} ${what} over ${transport}`
        t.equal(response.status, 400, `${name}: ${response.detail}`)
        t.ok(response.paths.includes(path), `${name}: errors name ${response.paths}`)
      }
    t.strictSame(state(), before, 'nothing was written')
    const response = await callers.http(operation, valid, key)
    t.ok((response?.status ?? 500) < 300, `the valid input succeeds: ${response?.detail}`)
    await backgroundEnds()
    const changes = !/:(read|search|use)$/.test(operation.permission)
    if (changes) t.notSame(state().commits, before.commits, 'and that is seen')
  })

t.test('many invalid inputs were generated', async (t) => {
  t.ok(walked > 800, `${walked} calls`)
})
