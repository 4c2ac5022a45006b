import t from 'tap'
import { call, KEYS, startWorld } from '../kit/egress.ts'
import { startFlood } from '../kit/flood.ts'
import { until } from '../kit/until.ts'
import { upload } from '../kit/upload.ts'

const MIB = 1024 * 1024
/**
 * The flood holds up to six eighths: half as its tenant, and half of the rest without a key. Of what is left a
 * bystander gets half, which has room for its calls of a round when its body of unknown length is slow (8.25 MiB).
 */
const HELD = 88 * MIB
/** Calls of each kind; a tenant's share has room for none of these alone. */
const EACH = 180

const world = await startWorld({
  bootstrap: { egress: { timeoutMs: 60_000 } },
  gateway: { limits: { heldBytes: HELD, hosts: 64, upload: { running: 8 } } },
})
t.teardown(() => world.close())
const open = () => world.envoy.stat('cluster.gateway.upstream_rq_active')

t.test('a flood of one tenant is rejected above its share, and no call of another fails', async (t) => {
  const flood = startFlood(world, EACH)
  const kinds = Object.keys(flood.calls)
  const key = KEYS.stranger
  const text = { 'content-type': 'text/plain' }
  let rounds = 0
  do {
    rounds++
    world.dns.set(`${rounds}.dest.test`, { a: ['127.0.0.1'] })
    const body = 'x'.repeat(2 * MIB)
    const calls = [
      call(world.port, '/proxy', { key, method: 'GET', to: world.url() }),
      call(world.port, '/proxy', {
        key,
        to: world.url(),
        body: "a {{ card | json: '$.number' }}",
        headers: text,
      }),
      call(world.port, '/proxy', {
        key,
        to: world.url(),
        body,
        headers: { 'transfer-encoding': 'chunked', ...text },
      }),
      call(world.port, '/proxy', { key, method: 'GET', to: world.url('', `${rounds}.dest.test`) }),
      upload(world.port, world.url(), ["a {{ card | json: '$.number' }}"], {
        headers: { 'svc-api-key': key, ...text },
      }),
    ]
    const responses = await Promise.all(calls)
    const failed = responses.filter(({ status }) => status !== 200)
    if (failed.length > 0) t.comment(failed, world.envoy.stderr())
    t.same(failed, [], `round ${rounds}`)
  } while (rounds < 20 || kinds.some((kind) => flood.rejected(kind) === 0))
  for (const kind of kinds) t.ok(flood.rejected(kind) > EACH / 2, `${kind}: ${flood.rejected(kind)} rejected`)
  t.same(flood.unexpected(), [])
  const held = await open()
  t.ok(held <= HELD / (256 * 1024), `${held} calls are open`)
  flood.end()
  await until('no call is open', async () => (await open()) === 0)
})

t.test('a lookup outlasts two lost queries after quick lookups of another tenant', async (t) => {
  const get = (host: string, key: string) =>
    call(world.port, '/proxy', { key, method: 'GET', to: world.url('', host) })
  for (const host of ['quick1.dest.test', 'quick2.dest.test', 'quick3.dest.test', 'quick4.dest.test']) {
    world.dns.set(host, { a: ['127.0.0.1'] })
    t.equal((await get(host, KEYS.private)).status, 200)
  }
  world.dns.set('lossy.dest.test', (count) => (count < 2 ? { silent: true } : { a: ['127.0.0.1'] }))
  t.equal((await get('lossy.dest.test', KEYS.stranger)).status, 200)
})

t.test('slow bodies of unknown length are rejected', async (t) => {
  const headers = { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' }
  const controller = new AbortController()
  // All of them begin with 1.25 MiB each in the 44 MiB of a tenant; with 8.25 MiB five fit.
  async function* slow() {
    yield 'x'
    await new Promise((_, reject) => controller.signal.addEventListener('abort', reject))
  }
  const responses = Array.from({ length: 20 }, () =>
    upload(world.port, world.url(), slow(), {
      headers: { ...headers, 'svc-proxy-stream': 'false' },
      signal: controller.signal,
    }),
  )
  t.equal((await Promise.any(responses)).status, 429)
  controller.abort()
  await Promise.allSettled(responses)
  t.equal(
    (await call(world.port, '/proxy', { method: 'GET', to: world.url() })).status,
    200,
    'all of it is back',
  )
})
