import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { command } from '../commands/in-process.ts'
import { LONG } from '../kit/long.ts'
import { postgresMissing, queryPostgres } from '../kit/postgres.ts'
import { noRedis } from '../kit/redis.ts'
import { startReplicas } from '../kit/replicas.ts'
import { type Response, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

/**
 * ms after its response until a change is in force everywhere (docs/guides/postgresql-and-scaling.md). At once where no
 * clock judges.
 */
const IN_FORCE_MS = LONG ? 1_000 : Number.POSITIVE_INFINITY
/** Between two looks at one replica. */
const LOOK_MS = 20
/** A replica that never gets there fails the test rather than hang it. */
const GIVE_UP_MS = 60_000

const CARD = {
  type: 'card',
  data: { number: '4111111111111111', expiration_month: 12, expiration_year: 2030 },
}

const skip = postgresMissing({ own: true }) || (await noRedis())

interface Change {
  readonly what: string
  /** Makes the change at the first replica. */
  readonly make: () => Promise<Response>
  /** True if a response of a replica is from before the change. */
  readonly isOld: (replica: Sidevault) => Promise<boolean | 'unknown'>
  /** Where it can be seen; default everywhere. */
  readonly at?: readonly Sidevault[]
}

/** ms after `since` at which the last call with a response from before the change began. Negative: no such call. */
const lastOld = async (
  replica: Sidevault,
  isOld: (replica: Sidevault) => Promise<boolean | 'unknown'>,
  since: number,
): Promise<number> => {
  let last = -1
  for (let fresh = 0; fresh < 3; await sleep(LOOK_MS)) {
    const began = performance.now() - since
    const old = await isOld(replica)
    if (old === 'unknown') continue // it rejected the call, since it could not know
    fresh = old ? 0 : fresh + 1
    if (old) last = began
    if (began > GIVE_UP_MS) throw new Error(`a replica responds as before the change for ${GIVE_UP_MS} ms`)
  }
  return last
}

t.test('three replicas over one PostgreSQL', { skip }, async (t) => {
  const { all, redis, postgres, deafen, env } = await startReplicas(t, [
    {},
    {},
    { role: 'gateway', redis: 'none' },
  ])
  const [first, second, gateway] = all as [Sidevault, Sidevault, Sidevault]
  const { managementKey } = first
  const manage = async (method: string, path: string, body?: object): Promise<Response> => {
    const response = await first.call(method, path, { key: managementKey, ...(body ? { body } : {}) })
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.text}`)
    return response
  }
  const application = async (members: object): Promise<{ id: string; key: string }> =>
    (await manage('POST', '/applications', { name: 'test', type: 'private', ...members })).json
  const dryRun = (replica: Sidevault, key: string, headers: Record<string, string>, body: object = {}) =>
    replica.call('POST', '/proxy', { key, body, headers: { 'svc-proxy-dry-run': 'true', ...headers } })
  const URL_ONE = { 'svc-proxy-url': 'https://one.example.com/' }
  /** 503 belongs to neither time: the replica could not find out, and rejected the call. */
  const status = ({ status }: Response, old: number): boolean | 'unknown' =>
    status === 503 ? 'unknown' : status === old

  /** Each change with everything that it needs, for each round. */
  const changes = async (): Promise<readonly Change[]> => {
    const use = { permissions: ['token:create', 'token:read', 'token:use', 'token:delete'] }
    const [revoked, ruled, user, owner, visitor] = await Promise.all([
      application(use),
      application(use),
      application(use),
      application({ permissions: ['token:create', 'token:read'] }),
      application({ type: 'public', permissions: ['token:create'] }),
    ])
    const proxy = (
      await manage('POST', '/proxies', {
        name: 'proxy',
        destination_url: 'https://one.example.com/',
        request_transform: { code: 'module.exports = async () => ({ body: { version: 1 }, headers: {} })' },
      })
    ).json
    const card = (await first.call('POST', '/tokens', { key: user.key, body: { type: 'token', data: 'x' } }))
      .json
    const session = (await first.call('POST', '/sessions', { key: visitor.key, body: {} })).json
    await first.call('POST', '/sessions/authorize', {
      key: owner.key,
      body: { nonce: session.nonce, permissions: ['token:create'] },
    })
    const tenant = (await manage('GET', '/tenants/self')).json
    const deduplicate = !(tenant.settings?.deduplicate_tokens === 'true')
    let serial = 0
    return [
      {
        what: 'a deleted key',
        make: () => manage('DELETE', `/applications/${revoked.id}`),
        isOld: async (replica) => status(await dryRun(replica, revoked.key, URL_ONE), 200),
      },
      {
        what: 'a permission taken away',
        make: () => manage('PUT', `/applications/${ruled.id}`, { name: 'test', permissions: ['token:read'] }),
        isOld: async (replica) => status(await dryRun(replica, ruled.key, URL_ONE), 200),
      },
      {
        what: "a proxy's destination and transform",
        make: () =>
          manage('PATCH', `/proxies/${proxy.id}`, {
            destination_url: 'https://two.example.com/',
            request_transform: {
              code: 'module.exports = async () => ({ body: { version: 2 }, headers: {} })',
            },
          }),
        isOld: async (replica) => {
          const { status, json } = await dryRun(replica, user.key, { 'svc-proxy-key': proxy.key })
          if (status === 503) return 'unknown'
          const is = [new URL(json.destination.url).host, json.body.after.version]
          if (is[0] !== (is[1] === 1 ? 'one.example.com' : 'two.example.com'))
            throw new Error(`half a change: ${is}`)
          return is[1] === 1
        },
      },
      {
        what: 'a deleted token',
        make: () => first.call('DELETE', `/tokens/${card.id}`, { key: user.key }),
        isOld: async (replica) => {
          const response = await dryRun(replica, user.key, URL_ONE, { a: `{{ ${card.id} }}` })
          if (response.status === 503) return 'unknown'
          return response.json.tokens[0].use === 'allowed'
        },
      },
      {
        what: 'a session whose application is deleted',
        make: () => manage('DELETE', `/applications/${visitor.id}`),
        isOld: async (replica) =>
          status(
            await replica.call('POST', '/tokens', {
              key: session.session_key,
              body: { type: 'token', data: 'of a session' },
            }),
            201,
          ),
        at: [first, second],
      },
      {
        what: "a tenant's settings",
        make: () =>
          manage('PUT', '/tenants/self', {
            name: tenant.name,
            settings: { ...tenant.settings, deduplicate_tokens: String(deduplicate) },
          }),
        isOld: async (replica) => {
          const body = { type: 'token', data: `twice ${replica.port} ${deduplicate} ${serial++}` }
          const one = await replica.call('POST', '/tokens', { key: user.key, body })
          const two = await replica.call('POST', '/tokens', { key: user.key, body })
          if (one.status !== 201 || ![200, 201].includes(two.status)) return 'unknown'
          return (one.json.id === two.json.id) !== deduplicate
        },
        at: [first, second],
      },
    ]
  }

  /** `before`: what happens before the change of this number is made. */
  const prove = async (t: Test, before: (at: number) => Promise<void> = async () => {}): Promise<void> => {
    for (const [at, change] of (await changes()).entries()) {
      const where = change.at ?? all
      for (const replica of where) t.equal(await change.isOld(replica), true, `${change.what}: before`)
      await before(at)
      t.ok((await change.make()).status < 300)
      const since = performance.now()
      const seen = await Promise.all(where.map((replica) => lastOld(replica, change.isOld, since)))
      t.ok(
        seen.every((ms) => ms < IN_FORCE_MS),
        `${change.what}: last seen as it was at ${seen.map((ms) => (ms < 0 ? 'none' : Math.round(ms))).join(', ')} ms`,
      )
    }
  }
  const reach = async (replica: Sidevault): Promise<string | undefined> =>
    (await replica.call('GET', '/readyz')).json.components.find(
      ({ name }: { name: string }) => name === 'redis',
    )?.status
  const redisIs = (status: string, replica: Sidevault): Promise<void> =>
    until(`Redis is ${status}`, async () => (await reach(replica)) === status)

  t.test('replicas that start at once on an empty database create one tenant', async (t) => {
    const database = new URL(postgres.admin)
    database.pathname = new URL(env.SIDEVAULT_STORE ?? '').pathname
    const names = await queryPostgres<{ name: string }>(database.href, 'select name from tenants')
    t.strictSame(names, [{ name: 'First tenant' }])
    for (const { dataDir } of all) t.notOk(readdirSync(dataDir).includes('sidevault.db'))
  })

  t.test('a replica reads what another has stored, and shows it in its logs', async (t) => {
    const { key } = await application({ permissions: ['token:create', 'token:read'] })
    const created = await first.call('POST', '/tokens', { key, body: CARD })
    t.equal(created.status, 201, created.text)
    const read = await second.call('GET', `/tokens/${created.json.id}`, { key })
    t.match(read, { status: 200, json: { id: created.json.id, type: 'card' } })
    await until('the records of both are in the logs', async () => {
      const path = `/logs?entity_id=${created.json.id}`
      return (await second.call('GET', path, { key: managementKey })).json.data?.length === 2
    })
  })

  t.test('each verifies the journals of its own', async (t) => {
    const { dataDir } = second
    const verified = await command(dataDir, ['audit', 'verify'], { ...env, SIDEVAULT_DATA_DIR: dataDir })
    t.match(verified, { code: 0, text: /ok {6}admin-[0-9a-f]{12}/ })
  })

  t.test('another does not start with another root key', async (t) => {
    const other = { ...env, ROOT_KEY: randomBytes(32).toString('base64') }
    await t.rejects(startSidevault({ env: other, dataDir: t.testdir() }), /root key does not match the store/)
  })

  t.test('replicas report Redis in /readyz, and only those that use it', async (t) => {
    // A busy machine may reply to Redis late; then it is degraded until the next probe.
    await Promise.all([first, second].map((replica) => redisIs('ok', replica)))
    t.equal(await reach(gateway), undefined)
  })

  t.test('a change that one replica acknowledged applies at all of them', (t) => prove(t))

  t.test(
    'changes apply while Redis exits, is down and recovers, without an error to any caller',
    async (t) => {
      await prove(t, async (at) => {
        if (at === 0) await redis.kill()
        if (at === 4) await redis.start()
        await deafen()
      })
      await Promise.all([first, second].map((replica) => redisIs('ok', replica)))
    },
  )

  t.test('without Redis replicas are ready, report degraded components, and serve calls', async (t) => {
    await redis.kill()
    await redisIs('degraded', first)
    const ready = await first.call('GET', '/readyz')
    t.equal(ready.status, 200)
    t.equal(ready.json.status, 'degraded')
    t.match((await first.call('GET', '/metrics')).text, /^sidevault_redis_up 0$/m)
    await redis.start()
    await redisIs('ok', first)
    t.match((await first.call('GET', '/metrics')).text, /^sidevault_redis_up \d$/m)
  })

  t.test('replicas reject calls while the database is down, and recover with it', async (t) => {
    const { key } = await application({ permissions: ['token:create', 'token:read'] })
    const created = await first.call('POST', '/tokens', { key, body: CARD })
    await postgres.kill()
    const rejected = await first.call('POST', '/tokens', { key, body: CARD })
    t.ok([503, 504].includes(rejected.status), rejected.text)
    t.match(await first.call('GET', '/readyz'), { status: 503, text: /store/ })
    await postgres.start()
    for (const program of [first, second]) {
      await until('it is ready again', async () => (await program.call('GET', '/readyz')).status === 200)
      const read = await program.call('GET', `/tokens/${created.json.id}`, { key })
      t.equal(read.status, 200, 'an acknowledged write is there')
    }
  })

  t.test('logs show nothing of PostgreSQL or Redis but their health', async (t) => {
    for (const { stdout, stderr } of all)
      t.notMatch(stdout() + stderr(), /sidevault_test|redis:\/\/|postgres:\/\//)
    t.match(gateway.stdout(), /role gateway/)
  })
})
