import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { KEYS, startWorld } from '../kit/egress.ts'
import { watchMemory } from '../kit/memory.ts'

const MIB = 1024 ** 2

const world = await startWorld({ withGateway: false })
const program = fileURLToPath(new URL('../kit/gateway-process.ts', import.meta.url))
const gateway = fork(program, [world.directory])
await once(gateway, 'message')
t.teardown(async () => {
  gateway.kill('SIGKILL')
  await world.close()
})

/** A guarded call whose response has this many bytes, without the value; nothing of it is read yet. */
const begin = (bytes: number): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: world.port,
      path: `/proxy/large?bytes=${bytes}`,
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'svc-api-key': KEYS.private,
        'svc-proxy-url': world.url(),
        'svc-proxy-guard': 'replace',
      },
    })
    request.on('response', resolve).on('error', reject)
    request.end(`{"card":"{{ card | json: '$.number' }}"}`)
  })

const rest = async (response: IncomingMessage): Promise<number> => {
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  return bytes
}

const envoyBytes = async () => Number(JSON.parse(await world.envoy.page('/memory')).allocated)

t.test('a response of 100 MiB streams: neither Envoy nor the gateway holds it', async (t) => {
  for (let round = 0; round < 3; round++) t.equal(await rest(await begin(30 * MIB)), 30 * MIB)
  const before = await envoyBytes()
  const memory = watchMemory(gateway.pid ?? 0)
  t.teardown(() => memory.end())
  const response = await begin(100 * MIB)
  t.equal(response.headers['svc-proxy-guard'], 'scanning')
  let bytes = 0
  let envoy = 0
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length
    if (bytes % (10 * MIB) < 32_768) envoy = Math.max(envoy, (await envoyBytes()) - before)
  }
  t.equal(bytes, 100 * MIB)
  const more = memory.highest() - memory.idle
  t.ok(more < 20 * MIB, `the gateway took ${Math.round(more / MIB)} MiB more`)
  t.ok(envoy < 20 * MIB, `Envoy took ${Math.round(envoy / MIB)} MiB more`)
})

t.test('callers that do not read hold up none of the others', async (t) => {
  const before = await envoyBytes()
  const stopped = await Promise.all(Array.from({ length: 20 }, () => begin(10 * MIB)))
  for (let calls = 0; calls < 20; calls++) t.equal(await rest(await begin(1_000)), 1_000)
  const held = (await envoyBytes()) - before
  t.ok(held < 20 * MIB, `Envoy holds ${Math.round(held / MIB)} MiB of theirs`)
  t.same(await Promise.all(stopped.map(rest)), Array(20).fill(10 * MIB), 'then they read it all')
})
