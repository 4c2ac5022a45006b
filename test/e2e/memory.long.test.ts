import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { socketsIn } from '../../src/supervisor/messages.ts'
import { partsBelow } from '../bench/processes.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { watchMemory } from '../kit/memory.ts'
import { startReceiver } from '../kit/receiver.ts'
import { startSidevault } from '../kit/sidevault.ts'

const MIB = 1024 * 1024
/**
 * Memory limit of a process: 200 MiB more than an idle one held when this limit was set (114 and 266 MiB). An idle
 * process holds some 60 and 130 MiB less since then, and one call of 32 MiB takes up to 230 MiB.
 */
const MOST: Readonly<Record<string, number>> = { gateway: 314 * MIB, admin: 466 * MIB }
const TENANTS = 8
/** Tokens of each tenant: together what one call may open. */
const TOKENS = 32
const ROUNDS = 2
/** 1 MiB, less what a request body needs besides. */
const LARGEST = 'x'.repeat(MIB - 4 * 1024)

const { certificate, ...network } = await startLocalNetwork(t, ['dest.test'])
const receiver = await startReceiver(certificate, 'h1')
const sidevault = await startSidevault({ env: { SIDEVAULT_LOG_LEVEL: 'warn', ...network.env } })
t.teardown(async () => {
  await sidevault.stop()
  await receiver.close()
})

interface Tenant {
  readonly key: string
  /** Of large tokens. */
  readonly ids: string[]
  /** A token of a few bytes. */
  readonly small: string
}

/** The status of a call whose response is read to its end and forgotten. */
const send = (
  method: string,
  path: string,
  key: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: sidevault.port,
      method,
      path,
      headers: { 'svc-api-key': key, 'content-type': 'application/json', ...headers },
    }
    const call = request(options, (response) => {
      response.resume()
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    call.on('error', reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })

const createToken = async (key: string, data: string): Promise<string> => {
  const { json } = await sidevault.call('POST', '/tokens', {
    key,
    body: { type: 'token', data, metadata: { of: 'large' } },
  })
  return json.id
}

const addTenant = async (_: unknown, at: number): Promise<Tenant> => {
  const operator = join(sidevault.dataDir, socketsIn('run', 1).operator)
  const { body } = await unixHttp(operator, 'POST', '/tenants', {
    body: { name: `tenant ${at}` },
    timeoutMs: 30_000,
  })
  const permissions = ['token:create', 'token:read', 'token:use', 'token:search']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const application = await sidevault.call('POST', '/applications', {
    key: JSON.parse(body).key,
    body: { name: 'test', type: 'private', rules },
  })
  const { key } = application.json
  return { key, ids: [], small: await createToken(key, 'small') }
}

const texts = (ids: readonly string[], filter = '') => ids.map((id) => `{{ ${id}${filter} }}`)
const proxied = { 'svc-proxy-url': `https://dest.test:${receiver.port}` }
const half = TOKENS / 2 - 1

/** The heaviest requests of each kind, with one of their statuses besides 429. */
const KINDS: Readonly<Record<string, readonly [status: number, call: (tenant: Tenant) => Promise<number>]>> =
  {
    'detokenize 15 MiB': [200, ({ key, ids }) => send('POST', '/detokenize', key, texts(ids.slice(0, half)))],
    'detokenize 32 MiB to little': [
      200,
      ({ key, ids }) => send('POST', '/detokenize', key, texts(ids, ' | size')),
    ],
    'a page of 31 MiB': [200, ({ key }) => send('GET', '/tokens?size=31', key)],
    'a page of 31 MiB by cursor': [200, ({ key }) => send('GET', '/v2/tokens?size=31', key)],
    'a search for 31 MiB': [
      200,
      ({ key }) => send('POST', '/tokens/search', key, { query: 'metadata.of:large', size: 31 }),
    ],
    'a token of 1 MiB': [201, ({ key }) => send('POST', '/tokens', key, { type: 'token', data: LARGEST })],
    'proxy 7 MiB': [200, ({ key, ids }) => send('POST', '/proxy', key, texts(ids.slice(0, 7)), proxied)],
    'proxy 32 MiB to little': [
      200,
      ({ key, ids }) => send('POST', '/proxy', key, texts(ids, ' | size'), proxied),
    ],
  }

t.test(
  'the gateway and the admin process stay within their memory limits with all tenants active',
  async (t) => {
    const tenants = await Promise.all(Array.from({ length: TENANTS }, addTenant))
    // Everything has run once, with little data, before either counts as idle.
    for (const { key, small } of tenants)
      for (const [, call] of Object.values(KINDS)) await call({ key, ids: [small], small })
    const { gateway = 0, admin = 0 } = partsBelow(sidevault.pid)
    const watches = Object.entries({ gateway, admin }).map(([name, pid]) => [name, watchMemory(pid)] as const)

    for (const tenant of tenants)
      for (let at = 0; at < TOKENS; at++) tenant.ids.push(await createToken(tenant.key, LARGEST))
    const seen = new Map(Object.keys(KINDS).map((name) => [name, new Map<number, number>()]))
    const wave = (names: readonly string[]) =>
      Promise.all(
        tenants.flatMap((tenant) =>
          names.map(async (name) => {
            const status = await KINDS[name]?.[1](tenant)
            const statuses = seen.get(name)
            statuses?.set(status ?? 0, (statuses.get(status ?? 0) ?? 0) + 1)
          }),
        ),
      )
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of seen.keys()) await wave([name, name])
      await wave([...seen.keys()])
    }
    for (const [name, statuses] of seen) {
      t.comment(`${name}: ${[...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')}`)
      const wanted = KINDS[name]?.[0] ?? 0
      t.ok(statuses.has(wanted), `${name}: some are ${wanted}`)
      t.same(
        [...statuses.keys()].filter((status) => status !== wanted && status !== 429),
        [],
        name,
      )
    }
    for (const [name, { idle, highest, end }] of watches) {
      end()
      const [before, more] = [idle, highest() - idle].map((bytes) => Math.round(bytes / MIB))
      t.comment(`${name}: idle ${before} MiB, at most ${more} MiB more`)
      t.ok(highest() <= (MOST[name] ?? 0), name)
    }
  },
)
