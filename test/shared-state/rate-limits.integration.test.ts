import { createHash } from 'node:crypto'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createInProcessState } from '../../src/shared-state/in-process.ts'
import { createRateLimits } from '../../src/shared-state/rate-limits.ts'
import type { Claim } from '../../src/shared-state/types.ts'
import { startTestService, testClock } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const setUp = (limits: Parameters<typeof createRateLimits>[1]) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  return { clock, admit: createRateLimits({ state, hash: (key) => `hash of ${key}` }, limits) }
}

const outcome = (admit: () => Promise<void> | void) =>
  (async () => admit())().then(
    () => 'served',
    (thrown: unknown) => (thrown instanceof AppError ? `${thrown.code} ${thrown.retryAfter}` : thrown),
  )

t.test('without limits there is no limiter', async (t) => {
  t.equal(setUp({}).admit, undefined)
})

t.test('keys and addresses are counted separately, whether keys are known or not', async (t) => {
  const { admit, clock } = setUp({ perKey: 2, perAddress: 3 })
  const from = (key: string | undefined, address: string | undefined) =>
    outcome(() => admit?.({ key, address }))
  t.equal(await from('a', '1.1.1.1'), 'served')
  t.equal(await from('a', '1.1.1.1'), 'served')
  t.equal(await from('a', '2.2.2.2'), 'rate_limited 30')
  t.equal(await from('b', '1.1.1.1'), 'served')
  t.equal(await from('b', '1.1.1.1'), 'rate_limited 20')
  t.equal(await from(undefined, '1.1.1.1'), 'rate_limited 20')
  t.equal(await from(undefined, undefined), 'served', 'calls inside the machine')
  clock.advance(30_000)
  t.equal(await from('a', '1.1.1.1'), 'served')
})

t.test('pages are counted by origin at an address, besides key and address', async (t) => {
  const { admit } = setUp({ perOrigin: 2 })
  const from = (origin: string | undefined, address: string | undefined) =>
    outcome(() => admit?.({ key: 'public', address, origin }))
  const shop = 'https://shop.example'
  t.same(await Promise.all([from(shop, '1.1.1.1'), from(shop, '1.1.1.1')]), ['served', 'served'])
  t.equal(await from(shop, '1.1.1.1'), 'rate_limited 30')
  t.equal(await from(shop, '2.2.2.2'), 'served', 'visitors elsewhere are not locked out')
  t.equal(await from('https://other.example', '1.1.1.1'), 'served')
  t.equal(await from(undefined, '1.1.1.1'), 'served', 'calls of servers')
})

t.test('an IPv6 address counts with its /64, a mapped one as its IPv4 address', async (t) => {
  const { admit } = setUp({ perAddress: 2 })
  const from = (address: string) => outcome(() => admit?.({ key: undefined, address }))
  t.same(await Promise.all(['2001:db8::1', '2001:db8:0:0:ffff::2'].map(from)), ['served', 'served'])
  t.equal(await from('2001:0db8::3'), 'rate_limited 30')
  t.equal(await from('2001:db8:0:1::1'), 'served')
  t.same(await Promise.all(['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'].map(from)), [
    'served',
    'served',
    'rate_limited 30',
  ])
})

t.test('shared keys reveal neither API keys nor addresses', async (t) => {
  const buckets: string[] = []
  const state = {
    take: async (claims: readonly Claim[]) => {
      buckets.push(...claims.map(({ bucket }) => bucket))
      return { fullIn: [] }
    },
  }
  const hash = (text: string) => createHash('sha256').update(text).digest('hex')
  const admit = createRateLimits({ state, hash }, { perKey: 1, perAddress: 1 })
  await admit?.({ key: 'key_of_somebody', address: '192.0.2.7' })
  t.equal(buckets.length, 2)
  t.notMatch(buckets.join(), /somebody|192\.0/)
  t.notOk(buckets.includes(hash('key_of_somebody')), 'nor what the store knows a key by')
  await admit?.({ key: 'k'.repeat(201), address: undefined })
  t.equal(buckets.length, 2, 'a key longer than any has no bucket')
})

t.test('the API returns 429 with Retry-After, but not for its own pages', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const admit = createRateLimits({ state, hash: (key) => key }, { perKey: 3 })
  const service = await startTestService(t, { openStore: openInThread, clock, admin: { admit } })
  for (let i = 0; i < 3; i++) t.equal((await service.call('GET', '/permissions')).status, 200)
  const rejected = await service.call('GET', '/permissions')
  t.equal(rejected.status, 429)
  t.equal(rejected.headers['retry-after'], '20')
  t.match(rejected.json, { code: 'rate_limited', status: 429 })
  t.equal((await service.call('POST', '/applications', { body: {} })).status, 429)
  t.equal((await service.call('GET', '/healthz')).status, 200)
  t.equal((await service.call('GET', '/readyz')).status, 200, 'nor for calls inside the machine')
  t.equal((await service.call('GET', '/permissions', { key: 'another' })).status, 401)
  clock.advance(20_000)
  t.equal((await service.call('GET', '/permissions')).status, 200)
})

t.test('responses of operations name the limits and what is left of them, rejections too', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const admit = createRateLimits({ state, hash: (key) => key }, { perKey: 7, perAddress: 9 })
  const service = await startTestService(t, { openStore: openInThread, clock, admin: { admit } })
  const call = async (path: string, key = 'a', address = '192.0.2.1') => {
    const headers = { 'x-sidevault-client-address': address }
    const { status, headers: responded } = await service.call('GET', path, { key, headers })
    if (status === 429) t.match(responded.ratelimit, new RegExp(`;r=0;t=${responded['retry-after']}$`))
    return [status, responded['ratelimit-policy'], responded.ratelimit]
  }
  const both = '"address";q=9;w=60, "key";q=7;w=60'
  t.strictSame(await call('/permissions'), [401, both, '"address";r=8;t=7, "key";r=6;t=9'])
  clock.advance(2_000)
  t.strictSame(await call('/permissions'), [401, both, '"address";r=7;t=5, "key";r=5;t=7'])
  for (let left = 5; left > 0; left--) await call('/permissions')
  t.strictSame(await call('/permissions'), [429, both, '"address";r=1;t=5, "key";r=0;t=7'])
  t.strictSame(await call('/permissions', 'b'), [401, both, '"address";r=0;t=5, "key";r=6;t=9'])
  t.strictSame(await call('/permissions', 'c'), [429, '"address";q=9;w=60', '"address";r=0;t=5'])
  t.strictSame(await call('/readyz'), [200, undefined, undefined], 'pages have no key')
})

t.test('pages of the service have their own limit for each address', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const admit = createRateLimits({ state, hash: (key) => key }, { perAddress: 5 })
  const service = await startTestService(t, { openStore: openInThread, clock, admin: { admit } })
  const statusOf = async (path: string, address = '192.0.2.1') =>
    (await service.call('GET', path, { headers: { 'x-sidevault-client-address': address } })).status
  for (let left = 1_197; left > 0; left--)
    await admit?.({ key: undefined, address: '192.0.2.1', pages: 'pages' })
  for (const path of ['/metrics', '/readyz', '/docs']) t.equal(await statusOf(path), 200, path)
  for (const path of ['/metrics', '/readyz', '/docs', '/openapi.json'])
    t.equal(await statusOf(path), 429, path)
  t.equal(await statusOf('/metrics', '192.0.2.2'), 200)
  t.equal(await statusOf('/healthz'), 200)
  t.equal(await statusOf('/permissions'), 200, 'calls count apart')
})

t.test('requests for pages and attempts to sign in do not prevent signing out of the console', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const admit = createRateLimits({ state, hash: (key) => key }, { perAddress: 600_000 })
  const service = await startTestService(t, {
    openStore: openInThread,
    clock,
    admin: { admit, console: true },
  })
  const headers = { 'x-sidevault-client-address': '192.0.2.1' }
  const own = { ...headers, 'sec-fetch-site': 'same-origin', 'x-sidevault-console': '1' }
  const session = (method: string, key = service.managementKey, more: object = {}) =>
    service.call(method, '/console/session', {
      key: null,
      headers: { ...own, ...more },
      ...(method === 'POST' ? { body: { key } } : {}),
    })
  const signedIn = await session('POST')
  t.equal(signedIn.status, 201)
  const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0]
  for (let left = 1_200; left > 0; left--) await service.call('GET', '/docs', { headers })
  t.equal((await service.call('GET', '/docs', { headers })).status, 429)
  t.equal((await service.call('GET', '/console/', { headers })).status, 200)
  for (let left = 1_199; left > 0; left--) await session('POST', 'key_unknown')
  t.equal((await session('POST', 'key_unknown')).status, 429)
  t.equal((await session('GET', '', { cookie })).status, 200)
  t.equal((await session('DELETE', '', { cookie })).status, 204)
})

t.test('all sessions of the console with one key share a limit', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const admit = createRateLimits({ state, hash: (key) => key }, { perKey: 6 })
  const service = await startTestService(t, {
    openStore: openInThread,
    clock,
    admin: { admit, console: true },
  })
  const call = (method: string, path: string, cookie = '', body?: object) =>
    service.call(method, path, {
      key: null,
      headers: { cookie, 'sec-fetch-site': 'same-origin', 'x-sidevault-console': '1' },
      ...(body ? { body } : {}),
    })
  const signIn = async (key: string) => {
    const { headers } = await call('POST', '/console/session', '', { key })
    return String(headers['set-cookie']).split(';', 1)[0]
  }
  const [first, second] = [await signIn(service.managementKey), await signIn(service.managementKey)]
  for (const cookie of [first, second, first, second, first, second])
    t.equal(
      (await call('GET', '/console/api/applications', cookie)).headers['ratelimit-policy'],
      '"key";q=6;w=60',
    )
  for (const cookie of [first, second])
    t.equal((await call('GET', '/console/api/applications', cookie)).status, 429)
  t.equal((await service.call('GET', '/applications')).status, 200, 'calls with the key itself count apart')
})
