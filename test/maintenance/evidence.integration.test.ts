import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { evidenceMarkdown } from '../../src/maintenance/evidence-markdown.ts'
import { command } from '../commands/in-process.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'
import { newVaultDatabase } from '../kit/test-store.ts'
import { openVault, twoFolders } from './vault.ts'

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2099, cvc: '737' }
const PLANTED = {
  metadata: 'planted-metadata-of-a-token',
  configuration: 'planted-configuration-of-a-proxy',
  plugin: 'planted-configuration-of-a-plugin',
  redis: 'planted-password-of-redis',
  text: 'planted-data-of-a-token',
}
const RULE = {
  description: 'all',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ['token:read'],
}
const NAME = 'name | <img src=x> [x](http://a.test)'

/** A vault with all kinds of secrets, and what of them must never be in evidence. */
const filledVault = async (here: string, env: Record<string, string>) => {
  mkdirSync(here, { recursive: true })
  const vault = await openVault(here, undefined, env)
  const call = async (method: string, path: string, body?: unknown, as = vault.key) => {
    const { status, json } = await vault.call(method, path, { body, as })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`)
    return json
  }
  const other = await vault.tenant('tenant-of-others')
  const permissions = ['token:create', 'token:read']
  const app = await call('POST', '/applications', { name: NAME, type: 'private', permissions })
  await call('PUT', `/applications/${app.id}`, { name: NAME, permissions, rules: [RULE] })
  await call('POST', '/tokens', { type: 'card', data: CARD, metadata: { order: PLANTED.metadata } }, app.key)
  const { id } = await call('POST', '/tokens', { data: PLANTED.text }, app.key)
  await call('GET', `/tokens/${id}`, undefined, app.key)
  const proxy = await call('POST', '/proxies', {
    name: 'p',
    destination_url: 'https://a.test/',
    configuration: { SECRET: PLANTED.configuration },
  })
  await call('DELETE', `/proxies/${proxy.id}`)
  const webhook = await call('POST', '/webhooks', {
    name: 'w',
    url: 'https://hooks.test/',
    events: ['token.created'],
  })
  await call(
    'POST',
    '/applications',
    { name: 'of others', type: 'public', permissions: ['token:create'] },
    other,
  )
  await vault.close()
  const secrets = [
    vault.key,
    other,
    app.key,
    proxy.key,
    webhook.secret,
    CARD.number,
    ...Object.values(PLANTED),
  ]
  for (const secret of secrets) t.ok(typeof secret === 'string' && secret.length > 8, 'a secret is known')
  return { app, proxy, secrets }
}

const read = (folder: string) => ({
  json: JSON.parse(readFileSync(join(folder, 'evidence.json'), 'utf8')),
  texts: readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8')),
})

const collects = async (
  t: Test,
  source: Record<string, string>,
  wrapped: () => Promise<readonly string[]>,
) => {
  const { here, file } = twoFolders(t)
  const { app, proxy, secrets } = await filledVault(here, source)
  const env = {
    ...source,
    SIDEVAULT_DATA_DIR: here,
    SIDEVAULT_BOOTSTRAP_KEY: 'planted-key-of-the-first-application',
    SIDEVAULT_REDIS_URL: `rediss://:${PLANTED.redis}@redis.test/0`,
    SIDEVAULT_PLUGIN_CONFIG: JSON.stringify({ console: { secret: PLANTED.plugin } }),
    SIDEVAULT_CVC_SECONDS: '60',
  }
  const rotated = await command(here, ['keys', 'rotate-data', '--tenant', 'tenant-of-others'], {
    ...env,
    ...source,
  })
  t.equal(rotated.code, 0, rotated.text)
  const collect = (out: string, since = '2026-01-01') =>
    command(here, ['evidence', '--since', since, '--out', out], env)
  const early = await collect(file('early'))
  t.match(
    early,
    { code: 0, out: /^note .* are not in the store yet/m },
    'no service has stored the record of the command',
  )
  t.ok(read(file('early')).json.audit.not_stored > 0)
  await (await openVault(here, undefined, source)).close()
  const out = file('evidence')
  const { code, text } = await collect(out)
  t.equal(code, 0, text)
  t.same(readdirSync(out).sort(), ['evidence.json', 'evidence.md'])
  for (const name of readdirSync(out)) t.equal(statSync(join(out, name)).mode & 0o777, 0o600)

  const { json, texts } = read(out)
  const rootKey = readFileSync(join(here, 'root.key'))
  const never = [
    ...secrets,
    'planted-',
    rootKey.toString().trim(),
    rootKey.toString('hex'),
    ...(await wrapped()),
    ...(source.SIDEVAULT_STORE ? [new URL(source.SIDEVAULT_STORE).password, source.SIDEVAULT_STORE] : []),
  ].filter((secret) => secret !== '')
  for (const text of texts)
    t.same(
      never.filter((secret) => text.includes(secret)),
      [],
      'no secret, value or key',
    )

  t.match(json.configuration, { cvc_seconds: 60, bootstrap_key: '[secret]', redis_url: '[secret]' })
  t.match(json.versions, { sidevault: /^\d/, node: process.versions.node, envoy: /^1\.\d+/ })
  t.equal(json.versions.store, source.SIDEVAULT_STORE ? 'PostgreSQL' : 'SQLite')
  t.match(json.keys.root_key, { id: /^[0-9a-f]{16}$/, age_days: 0 })
  const dataKeys = json.keys.keys.filter(
    (key: { tenant_id: string; purpose: string }) =>
      key.tenant_id === 'tenant-of-others' && key.purpose === 'data',
  )
  t.match(dataKeys, [
    { version: 1, newest: false },
    { version: 2, newest: true, age_days: 0 },
  ])
  t.equal(dataKeys.length, 2)
  t.match(json.audit, { ok: true, not_stored: 0, files: { ok: true }, rows: { ok: true } })
  const changes = json.changes.map(
    (change: Record<string, string>) => `${change.entity_type} ${change.entity_id} ${change.operation}`,
  )
  for (const change of [
    `application ${app.id} create`,
    `application ${app.id} update`,
    `proxy ${proxy.id} create`,
    `proxy ${proxy.id} delete`,
    'tenant tenant-of-others update',
  ])
    t.ok(changes.includes(change), change)
  t.ok(json.changes.some((change: { tenant_id: string }) => change.tenant_id === 'tenant-of-others'))
  t.notOk(/"(card|token)"/.test(JSON.stringify(json.changes)), 'no records of tokens')

  const page = readFileSync(new URL('../../docs/pci.md', import.meta.url), 'utf8')
  const named = [...page.matchAll(/^\| (`[a-z]+`(?:, `[a-z]+`)*) \|/gm)].flatMap(
    ([, names = '']) => names.match(/[a-z]+/g) ?? [],
  )
  t.strictSame(
    named.sort(),
    Object.keys(json)
      .filter((name) => typeof json[name] === 'object')
      .sort(),
    'docs/pci.md has each section',
  )
  for (const [, setting = ''] of page.matchAll(/configuration\.([a-z_]+)/g))
    t.ok(setting in json.configuration, setting)

  t.match(await collect(out), { code: 1, err: /^sidevault: [^\n]*has evidence already[^\n]*\n$/ })
  return { here, file, collect, out }
}

t.test('evidence of a vault in SQLite', async (t) => {
  const { here, file, collect, out } = await collects(t, {}, async () => [])

  for (const [since, message] of [
    ['yesterday', /--since is not a date\. Write a date such as \d{4}-\d\d-\d\d\./],
    ['2999-01-01', /--since is in the future/],
  ] as const) {
    const { code, err } = await collect(file('never'), since)
    t.equal(code, 2)
    t.match(err, message)
  }
  t.throws(() => readdirSync(file('never')), { code: 'ENOENT' })
  writeFileSync(file('plain'), '')
  t.match(await collect(file('plain')), { code: 1, err: /cannot be written \(EEXIST\)/ })

  const later = new Date(Date.parse(read(out).json.created_at)).toISOString()
  t.equal((await collect(file('later'), later)).code, 0)
  t.same(read(file('later')).json.changes, [], 'what was before --since is left out')

  const [journal = ''] = readdirSync(join(here, 'audit')).filter((name) => name.endsWith('.jsonl'))
  appendFileSync(join(here, 'audit', journal), '{"seq":999}\n')
  const broken = await collect(file('broken'))
  t.match(broken, { code: 1, out: /BROKEN/ })
  t.equal(read(file('broken')).json.audit.ok, false, 'it is written all the same')
})

t.test('evidence of a vault in PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.close())
  const store = await newVaultDatabase(server)
  // Row-level security hides the rows from their owner.
  const admin = new URL(server.admin ?? '')
  admin.pathname = new URL(store).pathname
  await collects(t, { SIDEVAULT_STORE: store }, async () => {
    const query =
      "select encode(wrapped, 'hex') wrapped from tenant_keys union select left(encode(wrapped, 'base64'), 40) from tenant_keys"
    const rows = (await queryPostgres(admin.href, query)) as readonly { readonly wrapped: string }[]
    t.ok(rows.length > 4, 'wrapped keys')
    return rows.map(({ wrapped }) => wrapped)
  })
})

t.test('Markdown and HTML of others have no effect in evidence.md', async (t) => {
  const hostile = '| x |\n# title <img src=x onerror=1> [a](http://a.test) `code` \u202e'
  const text = evidenceMarkdown({
    format: 1,
    created_at: 'now',
    since: 'then',
    versions: { envoy: null },
    services: [],
    configuration: { listen: hostile },
    keys: { root_key: { id: null, since: 'then', age_days: 0 }, keys: [] },
    audit: { ok: true, not_stored: 0, files: {}, rows: {} },
    changes: [
      {
        created_at: 'now',
        tenant_id: '',
        entity_type: hostile,
        entity_id: hostile,
        operation: 'update',
        actor_id: hostile,
        actor_type: null,
        message: hostile,
        trace_id: '',
      },
    ],
  })
  t.notMatch(text, /<img|\n# title|(?<!\\)\[a|(?<!\\)`code|\u202e/)
  const row = text.split('\n').find((line) => line.startsWith('| now')) ?? ''
  t.equal(row.split(/(?<!\\)\|/).length, 9, 'seven cells')
})
