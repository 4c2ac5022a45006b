import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { call, KEYS, startWorld } from '../kit/egress.ts'
import { startFlood } from '../kit/flood.ts'
import { upload } from '../kit/upload.ts'

const MIB = 1024 * 1024
/** Calls of each kind; a tenant's share has room for none of these alone. */
const EACH = 150
const ROUNDS = 50
const PHASES = 4
/** Names of the destination; they stay counted for a while, and are fewer than a share under flood. */
const NAMES = 8

const world = await startWorld({
  bootstrap: { egress: { timeoutMs: 60_000 } },
  gateway: { limits: { heldBytes: 64 * MIB, hosts: 64, upload: { running: 8 } } },
})
t.teardown(() => world.close())
const isOpen = async () => (await world.envoy.stat('cluster.gateway.upstream_rq_active')) > 0

const key = KEYS.stranger
const headers = { 'content-type': 'text/plain' }
const expression = "a {{ card | json: '$.number' }}"
const large = 'x'.repeat(2 * MIB)

/** The calls of a tenant that does nothing wrong. */
const KINDS: Readonly<Record<string, (round: number) => Promise<{ readonly status: number }>>> = {
  'no body': () => call(world.port, '/proxy', { key, method: 'GET', to: world.url() }),
  'a value': () => call(world.port, '/proxy', { key, to: world.url(), body: expression, headers }),
  '2 MiB': () =>
    call(world.port, '/proxy', {
      key,
      to: world.url(),
      body: large,
      headers: { 'transfer-encoding': 'chunked', ...headers },
    }),
  'a name of its own': (round) =>
    call(world.port, '/proxy', { key, method: 'GET', to: world.url('', `${round % NAMES}.dest.test`) }),
  'an upload': () =>
    upload(world.port, world.url(), [expression], { headers: { 'svc-api-key': key, ...headers } }),
}

type Times = Readonly<Record<string, number[]>>

const noTimes = (): Times => Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]))
const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0

for (let at = 0; at < NAMES; at++) world.dns.set(`${at}.dest.test`, { a: ['127.0.0.1'] })
let round = 0
const failed: string[] = []
/** Milliseconds of each call go to `times`. */
const measure = async (times: Times, rounds: number): Promise<void> => {
  for (const last = round + rounds; round < last; round++) {
    for (const [kind, begin] of Object.entries(KINDS)) {
      const began = performance.now()
      const { status } = await begin(round)
      times[kind]?.push(performance.now() - began)
      if (status !== 200) failed.push(`${kind}: ${status}`)
    }
  }
}

t.test("a flood of one tenant keeps others' p99 within 3 times of idle", async (t) => {
  await measure(noTimes(), 20)
  const idle = noTimes()
  const flooded = noTimes()
  // In turns, so that what else the machine does meets both.
  for (let phase = 0; phase < PHASES; phase++) {
    await measure(idle, ROUNDS)
    const flood = startFlood(world, EACH)
    await measure(flooded, ROUNDS)
    const unrejected = Object.keys(flood.calls).filter((kind) => flood.rejected(kind) < EACH / 2)
    t.same(unrejected, [], 'it is a flood of every kind')
    flood.end()
    while (await isOpen()) await setImmediate()
  }
  t.same(failed, [])
  // Of one kind only printed: its p99 is that of the first rounds, while this process begins 900 calls at once.
  for (const kind of Object.keys(KINDS)) {
    const [before, during] = [p99(idle[kind] ?? []), p99(flooded[kind] ?? [])]
    t.comment(`${kind}: p99 idle ${before.toFixed(1)} ms, flooded ${during.toFixed(1)} ms`)
  }
  const [before, during] = [p99(Object.values(idle).flat()), p99(Object.values(flooded).flat())]
  t.comment(`all: p99 idle ${before.toFixed(1)} ms, flooded ${during.toFixed(1)} ms`)
  t.ok(during <= 3 * before, `${during.toFixed(1)} ms, idle ${before.toFixed(1)} ms`)
})
