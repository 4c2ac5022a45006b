import { connect } from 'node:net'
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Registry } from '@prometheus-io/client'
import t, { type Test } from 'tap'
import { createLog, type Log } from '../../../src/common/log.ts'
import { openRedisState } from '../../../src/shared-state/redis/state.ts'
import type { SharedState } from '../../../src/shared-state/types.ts'
import { sharedStateContract } from '../../contract/shared-state-contract.ts'
import { createAuthority } from '../../kit/authority.ts'
import { listenFor } from '../../kit/listen.ts'
import { noRedis, startRedis } from '../../kit/redis.ts'
import { testClock } from '../../kit/service.ts'

/** Longer than a busy machine holds anybody up: what is late is what these tests make late. */
const LONG = { timeoutMs: 60_000 }

const skip = await noRedis()

const open = async (
  t: Test,
  url: string,
  options: Parameters<typeof openRedisState>[1] & { readonly log?: Log } = {},
): Promise<SharedState & { readonly registry: Registry }> => {
  const registry = new Registry()
  const { log = createLog('test', 'silent'), ...rest } = options
  const state = await openRedisState({ url, clock: testClock(), registry, log }, rest)
  t.teardown(() => state.close())
  return Object.assign(state, { registry })
}

/** Resolves when it is so. */
const until = async (so: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await so())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Opened, and connected: `openRedisState` itself waits half a second at most. */
const openShared: typeof open = async (...args) => {
  const state = await open(...args)
  await until(() => state.backend === 'shared')
  return state
}

/** A level of a log that stores its lines. */
const keep =
  (lines: string[]) =>
  (...said: unknown[]): void =>
    void lines.push(JSON.stringify(said))

const metric = async (registry: Registry, name: string, backend?: string): Promise<number | undefined> => {
  const metric = await registry.getSingleMetric(name)?.get()
  return metric?.values.find(({ labels }) => backend === undefined || labels.backend === backend)?.value
}

t.test('the shared-state contract over Redis', { skip }, async (t) => {
  const redis = await startRedis(t)
  sharedStateContract(t, async (t, clock) => {
    await openShared(t, redis.url, LONG)
    return openShared(t, (await startRedis(t)).url, { ...LONG, serverClock: clock })
  })
})

/** How many of so many calls from one bucket were served. */
const served = async (
  states: readonly SharedState[],
  calls: number,
  perMinute: number,
  bucket = 'a',
): Promise<number> => {
  const takes = await Promise.all(
    Array.from({ length: calls }, (_, n) => states[n % states.length]!.take([{ bucket, perMinute }])),
  )
  return takes.filter(({ wait }) => wait === undefined).length
}

t.test('replicas count together when their clocks differ', { skip }, async (t) => {
  const { url } = await startRedis(t)
  const options = { ...LONG, serverClock: testClock() }
  const states = await Promise.all([1, 2, 3].map(() => openShared(t, url, options)))
  t.equal(await served(states, 90, 30), 30)
  const other = await openShared(t, url, options)
  t.equal(await served([other], 5, 30, 'b'), 5, 'another bucket')
})

t.test(
  'while Redis is down each process counts by itself, and together again afterwards',
  { skip },
  async (t) => {
    const redis = await startRedis(t)
    const states = await Promise.all([1, 2].map(() => openShared(t, redis.url, LONG)))
    t.same(
      states.map(({ backend }) => backend),
      ['shared', 'shared'],
    )
    t.equal(await metric(states[0]!.registry, 'sidevault_redis_up'), 1)
    await redis.kill()
    t.equal(await served(states, 40, 10), 20, 'ten of each')
    t.same(
      states.map(({ backend }) => backend),
      ['away', 'away'],
    )
    t.equal(await metric(states[0]!.registry, 'sidevault_redis_up'), 0)
    t.equal(await metric(states[0]!.registry, 'sidevault_rate_limit_checks_total', 'process'), 20)
    await redis.start()
    await until(() => states.every(({ backend }) => backend === 'shared'))
    t.equal(await served(states, 40, 10, 'new'), 10, 'together')
    t.equal(await metric(states[0]!.registry, 'sidevault_redis_up'), 1)
  },
)

t.test('a hanging Redis delays a call once, by the timeout, and builds up no queue', { skip }, async (t) => {
  const redis = await startRedis(t)
  const state = await openShared(t, redis.url, { timeoutMs: 500 })
  redis.freeze()
  // If each of them waited, that would be a quarter of an hour.
  for (let i = 0; i < 2_000; i++) await state.take([{ bucket: 'a', perMinute: 10_000 }])
  t.equal(state.backend, 'away')
  t.ok((await metric(state.registry, 'sidevault_rate_limit_checks_total', 'process'))! >= 1_995)
  redis.thaw()
  await until(() => state.backend === 'shared')
  t.equal((await state.take([{ bucket: 'b', perMinute: 1 }])).wait, undefined)
})

t.test('time in which this process is busy does not count as that of Redis', { skip }, async (t) => {
  const { url } = await startRedis(t)
  const state = await openShared(t, url, { timeoutMs: 1_000 })
  const call = state.take([{ bucket: 'a', perMinute: 10 }])
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
  await call
  t.equal(state.backend, 'shared')
  t.equal(await metric(state.registry, 'sidevault_rate_limit_checks_total', 'redis'), 1)
})

t.test(
  'a Redis that rejects commands counts as down: clients see no error, and it is retried',
  { skip },
  async (t) => {
    const redis = await startRedis(t, { args: ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'] })
    const state = await open(t, redis.url, LONG)
    t.equal(state.backend, 'away')
    t.equal(await served([state], 5, 3), 3)
    const { createClient } = await import('@redis/client')
    const admin = await createClient({ url: redis.url }).connect()
    await admin.configSet('maxmemory', '0')
    admin.destroy()
    await until(() => state.backend === 'shared')
    t.pass('it is used as soon as it does its work')
  },
)

t.test('a process without a reachable Redis starts, counts, and closes at once', async (t) => {
  const state = await open(t, 'redis://127.0.0.1:1')
  t.equal(state.backend, 'away')
  t.equal(await served([state], 5, 3), 3)
  await state.close()
})

t.test(
  'a Redis that accepts connections but never responds delays neither start nor stop',
  { skip },
  async (t) => {
    const redis = await startRedis(t)
    redis.freeze()
    const state = await open(t, redis.url)
    t.equal(state.backend, 'away')
    t.equal(await served([state], 5, 3), 3)
    const closing = state.close()
    redis.thaw()
    await closing
  },
)

t.test('a script evicted by the server is loaded again', { skip }, async (t) => {
  const redis = await startRedis(t)
  const state = await openShared(t, redis.url, LONG)
  const { createClient } = await import('@redis/client')
  const admin = await createClient({ url: redis.url }).connect()
  await admin.scriptFlush()
  const takeOne = () => state.take([{ bucket: 'a', perMinute: 1 }])
  t.equal((await takeOne()).wait, undefined)
  t.equal((await takeOne()).wait?.claim, 0)
  t.equal(state.backend, 'shared')
  const [key] = await admin.keys('sidevault:calls:a')
  const left = await admin.pTTL(key!)
  t.ok(left > 0 && left <= 60_000, 'a bucket goes when it is full again')
  admin.destroy()
})

t.test('TLS is verified, and the password is never logged', { skip }, async (t) => {
  const password = 'päss wörd/?#@'
  const redis = await startRedis(t, { password })
  const authority = await createAuthority()
  const { cert, key } = await authority.issue(['localhost'])
  const front = createServer({ cert, key }, (socket) => {
    const back = connect(redis.port, '127.0.0.1')
    socket.pipe(back).pipe(socket)
    for (const end of [socket, back]) end.on('error', () => socket.destroy())
  })
  const port = await listenFor(t, front)
  const lines: string[] = []
  const log = { info: keep(lines), warn: keep(lines) } as unknown as Log

  const url = (host: string, secret: string) => `rediss://:${encodeURIComponent(secret)}@${host}:${port}`
  const backend = async (host: string, secret: string) =>
    (await open(t, url(host, secret), { ...LONG, log })).backend
  t.equal(await backend('localhost', password), 'away', 'an unknown authority')
  setDefaultCACertificates([...getCACertificates(), authority.pem])
  await openShared(t, url('localhost', password), { ...LONG, log })
  t.equal(await backend('127.0.0.1', password), 'away', 'a name that the certificate does not hold')
  t.equal(await backend('localhost', 'another-secret-word'), 'away')
  t.equal((await open(t, `redis://127.0.0.1:${redis.port}`, { ...LONG, log })).backend, 'away')
  for (const reason of [/SELF_SIGNED|UNABLE_TO/, /ERR_TLS_CERT_ALTNAME_INVALID/, /WRONGPASS/, /NOAUTH/]) {
    await until(() => reason.test(lines.join()))
    t.match(lines.join(), reason)
  }
  t.notMatch(lines.join(), /p.ss|another-secret-word|localhost/)
})
