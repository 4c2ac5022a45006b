import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { Secret } from '../../src/common/secret.ts'
import { runExport } from '../../src/maintenance/export-tenant.ts'
import { runImport } from '../../src/maintenance/import-tenant.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

const passphrase = new Secret('correct horse battery')
const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }

t.test('a tenant is exported and imported into another vault, and into its own again', async (t) => {
  const { here, there, file } = twoFolders(t)
  const path = file('tenant.sealed')
  const vault = await openVault(here)
  const permissions = ['token:create', 'token:read', 'token:search']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const application = await vault.call('POST', '/applications', {
    body: { name: 'a', type: 'private', rules },
  })
  const as = application.json.key
  const create = async (body: object) => (await vault.call('POST', '/tokens', { as, body })).json
  const card = await create({
    type: 'card',
    data: CARD,
    metadata: { order: '7' },
    search_indexes: ['{{ data.number | last4 }}'],
    fingerprint_expression: '{{ data.number }}',
    mask: { number: '{{ data.number | last4 }}' },
  })
  const limits = { destinations: [{ host: 'a.test', ports: [443] }], egress_only: true }
  const child = await create({ data: 'x'.repeat(100_000), id: 'my-own-id', ...limits })
  await vault.call('POST', `/tokens/${card.id}/children/${child.id}`, { as })
  for (let i = 0; i < 150; i++) await create({ data: `value ${i}` })
  const proxy = await vault.call('POST', '/proxies', {
    body: { name: 'p', destination_url: 'https://example.com', configuration: { password: 'xyzzy' } },
  })
  t.equal(proxy.status, 201)
  const { id: tenantId } = (await vault.call('GET', '/tenants/self')).json
  await vault.close()
  const other = await openVault(there)
  await other.close()

  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  t.ok(await runExport(configOf(here), { tenantId, path, passphrase }, print))
  t.match(lines, [/152 tokens, \d+ records, 1 associations$/])
  t.equal(statSync(path).mode & 0o777, 0o600)
  const bytes = readFileSync(path).toString('latin1')
  for (const secret of [CARD.number, 'xyzzy', 'my-own-id', 'value 1']) t.notOk(bytes.includes(secret), secret)

  for (const [where, folder] of [
    ['another vault', there],
    ['its own vault', here],
  ] as const) {
    lines.length = 0
    const map = file(`${where}.map`)
    await runImport(configOf(folder), { path, passphrase, map }, print)
    const [, id] = /^tenant {2}(\S+)$/.exec(lines[0]!) ?? []
    const [, key] = /^key {5}(\S+)$/.exec(lines[1]!) ?? []
    const reported = JSON.parse(readFileSync(map, 'utf8'))
    t.match(reported, { tenant: { from: tenantId, to: id }, left_behind: { application_keys: Number } })
    t.equal(
      Object.keys(reported.new_keys).length,
      folder === here ? 1 : 0,
      'a proxy key that is taken is another one',
    )

    const now = await openVault(folder)
    const call = (method: string, to: string, body?: unknown, by = key!) =>
      now.call(method, to, { as: by, ...(body === undefined ? {} : { body }) })
    const created = await call('POST', `/applications/${application.json.id}/keys`)
    t.equal(created.status, 201, 'its applications get keys from the new management application')
    const own = created.json.key
    const limited = (await call('GET', `/tokens/${child.id}`, undefined, own)).json
    t.match(limited, limits)
    t.notOk('data' in limited, 'egress_only')
    t.equal(await now.store.tenants.hasEgressOnly(id!), true)
    const read = await call('GET', `/tokens/${card.id}`, undefined, own)
    t.match(read.json, { type: 'card', data: CARD, metadata: { order: '7' }, created_at: card.created_at })
    t.ok(
      read.json.fingerprint && read.json.fingerprint !== card.fingerprint,
      'fingerprints are of the tenant',
    )
    const results = await call('POST', '/tokens/search', { query: 'data:4242' }, own)
    t.same(
      results.json.data?.map((token: { id: string }) => token.id),
      [card.id],
    )
    const children = await call('GET', `/tokens/${card.id}/children`, undefined, own)
    t.same(
      children.json.data.map((token: { id: string }) => token.id),
      ['my-own-id'],
    )
    t.match((await call('GET', `/proxies/${proxy.json.id}`)).json, {
      name: 'p',
      destination_url: 'https://example.com',
    })
    await now.close()
  }
})

t.test('an export leaves out values that were altered in the store, and names them', async (t) => {
  const { here, there, file } = twoFolders(t)
  const path = file('tenant.sealed')
  const vault = await openVault(here)
  const permissions = ['token:create']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const { json } = await vault.call('POST', '/applications', { body: { name: 'a', type: 'private', rules } })
  for (const id of ['one', 'two'])
    await vault.call('POST', '/tokens', { as: json.key, body: { id, data: id } })
  const { id: tenantId } = (await vault.call('GET', '/tenants/self')).json
  await vault.close()
  const db = new Database(join(here, 'sidevault.db'))
  db.exec(`update tokens set metadata = '{"x":"y"}' where id = 'one'`)
  db.prepare("update records set body = replace(body, 'token:create', 'token:update') where id = ?").run(
    json.id,
  )
  db.close()
  const lines: string[] = []
  t.notOk(await runExport(configOf(here), { tenantId, path, passphrase }, (line) => lines.push(line)))
  t.match(lines, [
    `REJECTED applications "${json.id}"`,
    'REJECTED token "one"',
    /: 1 tokens/,
    '2 values were altered in the store',
  ])
  const other = await openVault(there)
  await other.close()
  await runImport(configOf(there), { path, passphrase, map: file('map') }, () => {})
})

t.test('a file that is altered, truncated, or opened with another passphrase changes nothing', async (t) => {
  const { here, there, file } = twoFolders(t)
  const path = file('tenant.sealed')
  const vault = await openVault(here)
  const rules = [
    { description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: ['token:create'] },
  ]
  const { json } = await vault.call('POST', '/applications', { body: { name: 'a', type: 'private', rules } })
  for (let i = 0; i < 3; i++)
    await vault.call('POST', '/tokens', { as: json.key, body: { data: 'y'.repeat(60_000) } })
  const { id: tenantId } = (await vault.call('GET', '/tenants/self')).json
  await vault.close()
  await runExport(configOf(here), { tenantId, path, passphrase }, () => {})
  await t.rejects(
    runExport(configOf(here), { tenantId, path, passphrase }, () => {}),
    { message: /already exists/ },
  )
  await t.rejects(
    runExport(configOf(here), { tenantId: 'unknown', path: file('x'), passphrase }, () => {}),
    {
      code: 'tenant_not_found',
    },
  )
  const short = new Secret('too short')
  await t.rejects(
    runExport(configOf(here), { tenantId, path: file('x'), passphrase: short }, () => {}),
    {
      message: /at least 12 characters/,
    },
  )
  const other = await openVault(there)
  await other.close()
  const whole = readFileSync(path)
  const body = whole.indexOf('\n') + 1
  const PIECE = 65_536 + 16
  const flipped = Buffer.from(whole)
  flipped[body + 70_000]! ^= 1
  const head = Buffer.from(whole)
  head.write('2', whole.indexOf('"r":8') + 4)
  const swapped = Buffer.concat([
    whole.subarray(0, body),
    whole.subarray(body + PIECE, body + 2 * PIECE),
    whole.subarray(body, body + PIECE),
    whole.subarray(body + 2 * PIECE),
  ])
  const files: Readonly<Record<string, Buffer>> = {
    'a bit flipped': flipped,
    'another head': head,
    'pieces swapped': swapped,
    'cut at a piece': whole.subarray(0, body + 2 * PIECE),
    'cut in a piece': whole.subarray(0, -1),
    'with a byte more': Buffer.concat([whole, Buffer.of(0)]),
    'only its head': whole.subarray(0, body),
    'no such file': Buffer.from('hello'),
  }
  const map = file('map')
  const attempt = (bytes: Buffer, secret = passphrase) => {
    const damaged = file('damaged')
    writeFileSync(damaged, bytes)
    return runImport(configOf(there), { path: damaged, passphrase: secret, map }, () => {})
  }
  for (const [what, bytes] of Object.entries(files))
    await t.rejects(attempt(bytes), { code: 'invalid', message: /cannot be opened|not an export/ }, what)
  await t.rejects(attempt(whole, new Secret('another passphrase')), { message: /passphrase is wrong/ })
  writeFileSync(map, 'of another run')
  await t.rejects(attempt(whole), { code: 'invalid', message: /map" cannot be created \(EEXIST\)/ })
  t.equal(readFileSync(map, 'utf8'), 'of another run')
  rmSync(map)
  const after = await openVault(there)
  t.equal((await after.store.tenants.list()).length, 1)
  await after.close()
  t.notOk(existsSync(map))
  t.same(
    readdirSync(file('.')).filter((name) => name.endsWith('.partial')),
    [],
  )
})
