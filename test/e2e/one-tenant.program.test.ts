/** A gateway that holds one tenant: the whole program over PostgreSQL, with real Envoys. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../commands/in-process.ts'
import { createAuthority } from '../kit/authority.ts'
import { rememberChecks } from '../kit/checked.ts'
import { startDestination } from '../kit/destination.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'
import { applicationBy, freePort, startSidevault } from '../kit/sidevault.ts'
import { delegateTenant } from '../kit/tenant-role.ts'
import { connect, overHttp1, secure } from '../kit/tunnel.ts'
import { until } from '../kit/until.ts'

const PERMISSIONS = ['token:create', 'token:read', 'token:use', 'token:delete']

t.test(
  'a gateway with a delegated key serves its tenant, until it is revoked',
  {
    skip: postgresMissing({ own: true }),
  },
  async (t) => {
    const directory = t.testdir()
    const { certificate, env: network } = await startLocalNetwork(t, ['dest.test', 'other.test'])
    const destination = await startDestination(certificate)
    t.teardown(() => destination.close())
    const postgres = await startPostgres({ own: true })
    t.teardown(() => postgres.close())
    const store = await postgres.database()
    const common = { ...network, SIDEVAULT_STORE: store, SIDEVAULT_ROOT_KEY: 'env:ROOT_KEY' }
    const env = { ...common, ROOT_KEY: randomBytes(32).toString('base64') }
    const dataDir = join(directory, 'admin')
    rememberChecks(dataDir)
    const admin = await startSidevault({ role: 'admin', dataDir, env })
    t.teardown(() => admin.stop())
    const operator = { ...env, SIDEVAULT_DATA_DIR: dataDir }
    const run = async (...args: string[]) => {
      const ended = await command(directory, args, operator)
      if (ended.code !== 0) throw new Error(ended.err)
      return ended.out
    }

    const tenant: string = (await admin.call('GET', '/tenants/self', { key: admin.managementKey })).json.id
    const key = await admin.application({ permissions: PERMISSIONS })
    const [, otherTenant, otherManagement] = /^tenant {2}(\S+)\nkey {5}(\S+)\n$/.exec(
      await run('tenants', 'create', 'Other'),
    )!
    const otherKey = await applicationBy(admin.call, otherManagement!)({ permissions: PERMISSIONS })
    const tokenOf = async (by: string, data: string): Promise<string> =>
      (await admin.call('POST', '/tokens', { key: by, body: { type: 'token', data } })).json.id
    const [token, otherToken] = [await tokenOf(key, 'value-one'), await tokenOf(otherKey, 'value-two')]

    const out = join(directory, 'shop.key')
    const role = await delegateTenant(operator, { admin: postgres.admin, tenant, name: 'shop', out })
    t.match(await run('keys', 'delegations'), `active  shop: tenant ${tenant}, since `)

    const gatewayDir = join(directory, 'gateway')
    rememberChecks(gatewayDir)
    const intercepting = (by: string, host: string) =>
      admin.call('POST', '/proxies', {
        key: by,
        body: { name: host, destination_url: `https://${host}:${destination.port}`, intercept: true },
      })
    t.equal((await intercepting(admin.managementKey, 'dest.test')).status, 201)
    t.equal((await intercepting(otherManagement!, 'other.test')).status, 201)
    const authority = await createAuthority('An authority of the gateway')
    const ca = join(directory, 'forward-ca.pem')
    writeFileSync(ca, authority.pem + authority.key, { mode: 0o600 })
    const forward = await freePort()
    const own = {
      ...network,
      SIDEVAULT_STORE: role,
      SIDEVAULT_DELEGATED_KEY: `file:${out}`,
      SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${forward}`,
      SIDEVAULT_FORWARD_CA: ca,
    }
    const gateway = await startSidevault({
      role: 'gateway',
      args: ['--tenant', tenant],
      dataDir: gatewayDir,
      env: own,
    })
    let isRunning = true
    t.teardown(() => isRunning && gateway.stop())
    const send = (by: string, body: object, headers: Record<string, string> = {}) =>
      gateway.call('POST', '/proxy', {
        key: by,
        body,
        headers: { 'svc-proxy-url': `https://dest.test:${destination.port}/`, ...headers },
      })
    const lastBody = () => destination.last().body?.toString()

    t.equal((await send(key, { a: `{{ ${token} }}` })).status, 200)
    t.equal(lastBody(), '{"a":"value-one"}')
    const before = destination.received.length
    t.equal(
      (await send(otherKey, { a: `{{ ${otherToken} }}` })).status,
      401,
      'another tenant is unknown here',
    )
    t.not((await send(key, { a: `{{ ${otherToken} }}` })).status, 200, 'as is its token')
    t.equal(destination.received.length, before)

    const tunnel = (by: string, host: string) =>
      connect({ proxy: forward, to: `${host}:${destination.port}`, key: by })
    const { status, socket } = await tunnel(key, 'dest.test')
    t.equal(status, 200)
    const inside = await secure(socket, 'dest.test', { ca: authority.pem })
    const body = JSON.stringify({ b: `{{ ${token} }}` })
    const headers = { 'content-type': 'application/json' }
    const to = `dest.test:${destination.port}`
    t.equal((await overHttp1(inside, to, { method: 'POST', headers, body })).status, 200)
    inside.destroy()
    t.equal(
      lastBody(),
      '{"b":"value-one"}',
      'hosts that the tenant has bound are opened, by its own authority',
    )
    t.equal((await tunnel(key, 'other.test')).status, 403, 'those that another tenant has bound are not')
    t.equal((await tunnel(otherKey, 'dest.test')).status, 407)

    const proxy = await admin.call('POST', '/proxies', {
      key: admin.managementKey,
      body: {
        name: 'creates',
        destination_url: `https://dest.test:${destination.port}/`,
        application: { id: (await admin.call('GET', '/applications/key', { key })).json.id },
        request_transform: {
          code: `module.exports = async (req) => {
          const { id } = await req.bt.tokens.create({ type: 'token', data: 'made', metadata: { a: 'b' }, egress_only: true })
          const seen = (await req.bt.tokens.retrieve('${token}')).id
          await req.bt.tokens.delete((await req.bt.tokens.create({ type: 'token', data: 'gone' })).id)
          return { body: { id, seen }, headers: {} }
        }`,
        },
      },
    })
    t.equal(proxy.status, 201, proxy.text)
    const made = await gateway.call('POST', '/proxy', {
      key,
      body: {},
      headers: { 'svc-proxy-key': proxy.json.key },
    })
    t.equal(made.status, 200, made.text)
    t.match(JSON.parse(lastBody()!), { seen: token }, 'transforms read and write tokens of the tenant')

    const logs = async () =>
      (await admin.call('GET', `/logs?entity_id=${token}`, { key: admin.managementKey })).json.data
    await until('the gateway has stored its audit records', async () =>
      (await logs()).some(({ operation }: { operation: string }) => operation === 'use'),
    )
    const verified = await run('audit', 'verify', '--rows')
    t.match(verified, /^ok {6}gateway-0_shop-[0-9a-f]{12}: \d+ rows$/m, verified)
    t.notMatch(verified, 'BROKEN')

    t.match(await run('keys', 'rotate-data', '--tenant', tenant), /data key version 2/)
    t.equal((await send(key, { a: `{{ ${token} }}` })).status, 200, 'a rotated key is delegated, too')
    t.equal(lastBody(), '{"a":"value-one"}')

    const revoked = await run('keys', 'revoke', 'shop')
    await until('the gateway responds with 503', async () => (await send(key, {})).status === 503)
    const left = destination.received.length
    t.match(await send(key, { a: `{{ ${token} }}` }), { status: 503, text: /was revoked/ })
    t.equal((await send('unknown', {})).status, 503)
    t.equal(destination.received.length, left, 'nothing leaves any more')
    t.match(await run('keys', 'delegations'), `revoked shop: tenant ${tenant}`)
    t.match(await run('keys', 'rotate-data', '--tenant', tenant), /data key version 3/)
    await gateway.stop()
    isRunning = false
    const database = new URL(postgres.admin)
    database.pathname = new URL(store).pathname
    await queryPostgres(database.href, revoked)
    t.same(await queryPostgres(database.href, "select 1 from pg_roles where rolname = 'sidevault_shop'"), [])
    t.same(
      await queryPostgres(database.href, "select 1 from pg_policies where policyname = 'sidevault_shop'"),
      [],
    )
    const messages = (await admin.call('GET', `/logs?entity_type=tenant`, { key: admin.managementKey })).json
    for (const message of [/delegated to the gateways "shop"/, /"shop" revoked/])
      t.ok(
        messages.data.some((log: { message: string }) => message.test(log.message)),
        String(message),
      )
    t.not(otherTenant, tenant)
  },
)

t.test('a gateway for one tenant rejects what it cannot work with, and prints the remedy', async (t) => {
  const directory = t.testdir()
  const store = 'postgres://user@127.0.0.1:1/none?sslmode=disable'
  const start = async (env: Record<string, string>, ...args: string[]) => {
    const { code, err } = await command(directory, ['start', ...args], {
      SIDEVAULT_DATA_DIR: join(directory, 'data'),
      ...env,
    })
    t.equal(code, 2)
    return err
  }
  const gateway = ['--role', 'gateway', '--tenant', 'tenant-1']
  const key = { SIDEVAULT_DELEGATED_KEY: 'env:KEY', SIDEVAULT_STORE: store }
  t.match(await start({ SIDEVAULT_STORE: store }, ...gateway), /keys delegate --tenant tenant-1/)
  t.match(await start(key, '--role', 'gateway'), /Start with --role gateway --tenant/)
  t.match(await start(key, '--tenant', 'tenant-1'), /--tenant needs --role gateway/)
  t.match(await start({ SIDEVAULT_DELEGATED_KEY: 'env:KEY' }, ...gateway), /PostgreSQL/)
  t.match(await start({ ...key, SIDEVAULT_ROOT_KEY: 'env:ROOT' }, ...gateway), /Unset SIDEVAULT_ROOT_KEY/)
  t.match(
    await start({ ...key, SIDEVAULT_FORWARD_LISTEN: '127.0.0.1:8090' }, ...gateway),
    /SIDEVAULT_FORWARD_CA/,
  )
  const onSqlite = await command(directory, ['keys', 'delegate', '--tenant', 'tenant-1', '--to', 'shop'], {
    SIDEVAULT_DATA_DIR: join(directory, 'data'),
  })
  t.match(onSqlite, { code: 1, out: '', err: /SIDEVAULT_STORE to PostgreSQL/ })
})
