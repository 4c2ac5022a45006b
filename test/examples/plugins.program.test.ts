import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { ALL_TOKEN_PERMISSIONS, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { jsonOf, printedClients, toValue } from './outside-grpc.ts'
import { makeProject } from './project.ts'

const project = makeProject()
const dataDir = mkdtempSync(join(tmpdir(), 'sidevault-plugins-'))
t.teardown(() => {
  project.remove()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Data of each type, with its plain and masked forms, and data that is rejected. */
const TYPES = {
  passport: {
    data: { country: 'gbr', number: 'L898902 C3', expires: '2020-01-31', can: '571846' },
    shown: { country: 'GBR', number: 'L898902C3', expires: '2020-01-31' },
    used: { country: 'GBR', number: 'L898902C3', expires: '2020-01-31', can: '571846' },
    masked: { country: 'GBR', number: 'XXXXXX2C3' },
    query: 'L898902C3',
    wrong: { country: 'GBR', number: 'L898902C3', expires: '2020-02-31' },
  },
  vin: {
    data: '1hgcm82633a004352',
    shown: '1HGCM82633A004352',
    used: '1HGCM82633A004352',
    masked: '1HGXXXXXXXXXX4352',
    query: '1HG',
    wrong: '1HGCM82643A004352',
  },
  loyalty_card: {
    data: { number: '4242424242424242', pin: '1928' },
    shown: { number: '4242424242424242' },
    used: { number: '4242424242424242', pin: '1928' },
    masked: { number: 'XXXXXXXXXXXX4242' },
    query: '4242',
    wrong: { number: '4242424242424241' },
  },
  iban: {
    data: 'GB82 WEST 1234 5698 7654 32',
    shown: 'GB82 WEST 1234 5698 7654 32',
    used: 'GB82 WEST 1234 5698 7654 32',
    masked: 'GB82XXXXXXXXXXXXXX5432',
    query: 'GB82WEST12345698765432',
    wrong: 'GB82 WEST 1234 5698 7654 33',
  },
} as const

type TypeName = keyof typeof TYPES
const names = Object.keys(TYPES) as TypeName[]

const start = (env: Record<string, string>) => startSidevault({ dataDir, env })

const outside = { SIDEVAULT_CONFIG: project.configuration }
const grpcOf = await printedClients(project.folder, outside)

const REVEAL = [
  {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ALL_TOKEN_PERMISSIONS,
  },
]

const tokens = {} as Record<TypeName, string>
let masking = ''
let revealing = ''
let check = ''

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const send = (vault: Sidevault, body: unknown, key = masking) =>
  vault.call('POST', '/proxy', {
    key,
    body,
    headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
  })

const bringsMore = async (t: Test, vault: Sidevault) => {
  const line = `{{ ${tokens.passport} | json: '$.number' | mrz_number }}`
  t.strictSame((await send(vault, { line })).json.body, { line: 'L898902C36' }, 'ICAO 9303 example')

  const body = { token_id: tokens.passport }
  const created = await vault.call('POST', '/passport-checks', { key: masking, body })
  t.match(created, { status: 201, json: { token_id: tokens.passport, expired: true } })
  check = created.json.id
  t.equal(created.headers.get('location'), `${vault.url}/passport-checks/${check}`)
  t.strictSame((await vault.call('GET', `/passport-checks/${check}`, { key: masking })).json, created.json)
  const list = await vault.call('GET', `/passport-checks?token_id=${tokens.passport}`, { key: masking })
  t.match(list.json, { pagination: { total_items: 1 }, data: [{ id: check }] })
  t.equal((await vault.call('GET', `/passport-checks/${check}`, { key: revealing })).status, 403)
  const card = { token_id: tokens.loyalty_card }
  t.equal((await vault.call('POST', '/passport-checks', { key: masking, body: card })).status, 422)

  const recently = { country: 'GBR', number: 'A1234567', expires: daysAgo(10) }
  const young = await vault.call('POST', '/tokens', {
    key: masking,
    body: { type: 'passport', data: recently },
  })
  const graced = await vault.call('POST', '/passport-checks', {
    key: masking,
    body: { token_id: young.json.id },
  })
  t.equal(graced.json.expired, false, 'grace_days of the configuration file')

  const paths = (await vault.call('GET', '/openapi.json')).json.paths
  t.ok(paths['/passport-checks'].post && paths['/passport-checks/{id}'].get, 'they are documented')
  const permissions = await vault.call('GET', '/permissions', { key: masking })
  t.ok(permissions.json.some(({ type }: { type: string }) => type === 'passport:check'))
}

const mails = async (t: Test, vault: Sidevault) => {
  const key = vault.managementKey
  const invite = (email: string) =>
    vault.call('POST', '/tenants/self/invitations', { key, body: { email, role: 'READ' } })
  const { id, tenant_id } = (await invite('ann@example.com')).json
  const path = join(project.outbox, `${id}.eml`)
  const mail = readFileSync(path, 'utf8')
  t.match(mail, /^From: vault@example\.com\r\nTo: ann@example\.com\r\n/)
  t.match(mail, `https://people.example.com/join?tenant=${tenant_id}&invitation=${id}\r\n`)
  t.equal(statSync(path).mode & 0o777, 0o600)
  rmSync(path)
  const again = await vault.call('POST', `/tenants/self/invitations/${id}/resend`, { key })
  t.equal(again.status, 200)
  t.match(readFileSync(path, 'utf8'), new Date(again.json.expires_at).toUTCString())

  rmSync(project.outbox, { recursive: true })
  const stands = await invite('bob@example.com')
  t.equal(stands.status, 201, 'an invitation that cannot be mailed stands')
  t.notMatch(vault.stderr(), /bob@example\.com/)
  t.match(
    (await vault.call('GET', '/readyz')).json,
    { status: 503 },
    'and the plugin says that it cannot work',
  )
}

t.test('plugins named in a configuration file beside them serve HTTP and /proxy', async (t) => {
  const vault = await start(outside)
  t.teardown(() => vault.stop())
  masking = await vault.application({ permissions: [...ALL_TOKEN_PERMISSIONS, 'passport:check'] })
  revealing = await vault.application({ rules: REVEAL })

  for (const type of names) {
    const { data, shown, used, masked, query, wrong } = TYPES[type]
    const created = await vault.call('POST', '/tokens', { key: masking, body: { type, data } })
    t.equal(created.status, 201, `${type}: ${created.text}`)
    const { id } = created.json
    tokens[type] = id
    t.strictSame((await vault.call('GET', `/tokens/${id}`, { key: masking })).json.data, masked)
    t.strictSame((await vault.call('GET', `/tokens/${id}`, { key: revealing })).json.data, shown)
    const matches = await vault.call('POST', '/v2/tokens/search', {
      key: masking,
      body: { query: `type:${type} AND data:"${query}"` },
    })
    t.equal(matches.json.data[0]?.id, id, `${type} is found`)
    const rejected = await vault.call('POST', '/tokens', { key: masking, body: { type, data: wrong } })
    t.equal(rejected.status, 400, `${type}: ${rejected.text}`)
    t.notOk(rejected.text.includes(JSON.stringify(wrong).slice(1, -1)), 'the error does not repeat it')
    const sent = await send(vault, { value: `{{ ${id} }}` })
    t.strictSame(sent.json.body, { value: used }, 'code and proxies may use what is never returned')
  }
  const detokenized = await vault.call('POST', '/detokenize', {
    key: revealing,
    body: { can: `{{ ${tokens.passport} | json: '$.can' }}` },
  })
  t.strictSame(detokenized.json, { can: null })
  await t.test('plugins serve gRPC', async (t) => {
    const grpc = grpcOf(vault.port, masking)
    const reveal = grpcOf(vault.port, revealing)
    for (const type of names) {
      const { data, shown, masked, wrong } = TYPES[type]
      const created = await grpc('Tokens', 'Create', { type, data: toValue(data) })
      t.strictSame(jsonOf(created.data), masked, type)
      const { id } = created
      t.strictSame(jsonOf((await grpc('Tokens', 'Get', { id })).data), masked, type)
      t.strictSame(jsonOf((await reveal('Tokens', 'Get', { id })).data), shown, type)
      t.strictSame((await send(vault, { value: `{{ ${id} }}` })).json.body, { value: TYPES[type].used }, type)
      const rejected = grpc('Tokens', 'Create', { type, data: toValue(wrong) })
      await t.rejects(rejected, { code: status.INVALID_ARGUMENT }, type)
    }
    const data = toValue(TYPES.passport.data)
    const token = await grpc('Tokens', 'Create', { type: 'passport', data })
    const checked = await grpc('PassportChecks', 'Create', { token_id: token.id })
    t.match(checked, { token_id: token.id, expired: true })
    t.strictSame(await grpc('PassportChecks', 'Get', { id: checked.id }), checked)
    const page = await grpc('PassportChecks', 'List', { token_id: token.id })
    t.match(page, { data: [checked] })
    await t.rejects(grpc('PassportChecks', 'Get', { id: 'none' }), { code: status.NOT_FOUND })
  })
  await t.test('a plugin that provides a port mails invitations', (t) => mails(t, vault))
  await t.test('the folder adds a filter, a collection, operations, a permission and a setting', (t) =>
    bringsMore(t, vault),
  )
})

t.test('without their plugins tokens are safe, unreadable and deletable', async (t) => {
  const vault = await start({ SIDEVAULT_PLUGINS: '*' })
  t.teardown(() => vault.stop())
  const grpc = grpcOf(vault.port, revealing)
  for (const type of names) {
    const id = tokens[type]
    const token = await grpc('Tokens', 'Get', { id })
    t.match(token, { id, type, privacy: { restriction_policy: 'redact' }, data: null, mask: null })
    const body = toValue({ value: `{{ ${id} }}` })
    await t.rejects(grpc('Tokens', 'Detokenize', { body }), { code: status.FAILED_PRECONDITION })
    const unmasked = grpc('Tokens', 'Update', { id, mask: toValue('{{ data }}') })
    await t.rejects(unmasked, { code: status.FAILED_PRECONDITION })
    for (const key of [masking, revealing]) {
      const read = await vault.call('GET', `/tokens/${id}`, { key })
      t.match(read, { status: 200, json: { id, type, privacy: { restriction_policy: 'redact' } } })
      t.notOk('data' in read.json, `${type}: no data`)
      t.notOk('mask' in read.json, `${type}: no mask`)
      t.equal((await send(vault, { value: `{{ ${id} }}` }, key)).status, 422)
    }
    const list = await vault.call('GET', `/v2/tokens?type=${type}`, { key: revealing })
    t.ok(list.json.data.length > 0 && list.json.data.every((token: object) => !('data' in token)))
    const detokenized = await vault.call('POST', '/detokenize', {
      key: revealing,
      body: { value: `{{ ${id} }}` },
    })
    t.equal(detokenized.status, 422)
    const patched = await vault.call('PATCH', `/tokens/${id}`, {
      key: revealing,
      body: { mask: '{{ data }}' },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    t.equal(patched.status, 422, 'no mask of its own unmasks it')
    const again = await vault.call('POST', '/tokens', {
      key: masking,
      body: { type, data: TYPES[type].data },
    })
    t.match(again, { status: 400, json: { errors: { type: [/./] } } })
  }
  const rejected = await send(vault, { line: `{{ ${tokens.passport} | mrz_number }}` })
  t.match(rejected, { status: 400, json: { proxy_error: { status: 400 } } })
  t.equal((await vault.call('GET', `/passport-checks/${check}`, { key: masking })).status, 404)
  await t.rejects(grpc('PassportChecks', 'Get', { id: check }), { code: status.UNIMPLEMENTED })
  t.equal((await vault.call('DELETE', `/tokens/${tokens.loyalty_card}`, { key: masking })).status, 204)
  t.equal((await vault.call('GET', `/tokens/${tokens.loyalty_card}`, { key: masking })).status, 404)
})

t.test('restored plugins restore their types, filters and data', async (t) => {
  const vault = await startSidevault({
    dataDir,
    cwd: project.folder,
    env: {
      SIDEVAULT_PLUGINS: '*,./passport,sidevault-plugin-vin,loyalty.json,./iban.json',
      SIDEVAULT_PLUGIN_CONFIG: JSON.stringify({ vin: { check_digit: false } }),
    },
  })
  t.teardown(() => vault.stop())
  for (const type of names.filter((name) => name !== 'loyalty_card')) {
    const read = await vault.call('GET', `/tokens/${tokens[type]}`, { key: revealing })
    t.strictSame(read.json.data, TYPES[type].shown)
  }
  t.equal((await vault.call('GET', `/tokens/${tokens.loyalty_card}`, { key: masking })).status, 404)
  t.equal((await vault.call('GET', `/passport-checks/${check}`, { key: masking })).status, 200)
  const body = { type: 'vin', data: TYPES.vin.wrong }
  t.equal(
    (await vault.call('POST', '/tokens', { key: masking, body })).status,
    201,
    'SIDEVAULT_PLUGIN_CONFIG',
  )
})
