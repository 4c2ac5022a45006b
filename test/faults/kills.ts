import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { killQuietly } from '../../src/common/kill.ts'
import { queryPostgres } from '../kit/postgres.ts'
import type { Sidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'
import { NOT_KNOWN, startLoad } from './load.ts'
import type { FaultWorld } from './world.ts'

/** How long a part may be away on a busy machine (ms); what it took is printed. */
const TIMEOUT = 120_000

/** The order and the moments of the faults; `FAULTS_SEED` repeats a run. */
const seed = Number(process.env.FAULTS_SEED ?? randomInt(2 ** 31))
/** Mulberry32: small, and the same everywhere. */
const random = (() => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
})()
const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)

const PARTS = {
  envoy: /envoy.* --config-path/,
  gateway: /^sidevault: gateway/,
  admin: /^sidevault: admin/,
  sandbox: /^sidevault: sandbox/,
} as const

/** A random process of this kind. */
const partOf = (replica: Sidevault, kind: keyof typeof PARTS): number | undefined =>
  shuffled(descendants(replica.pid).filter(({ command }) => PARTS[kind].test(command)))[0]?.pid

/** Whatever both replicas run on is killed under load. */
export const checkKills = async (t: Test, world: FaultWorld): Promise<void> => {
  t.comment(`FAULTS_SEED=${seed}`)
  const { replicas, postgres, redis, destination } = world
  destination.received.length = 0
  const load = await startLoad(world)
  const recovered = async (name: string, watched: readonly Sidevault[]) => {
    await Promise.all(
      watched.map((replica) => until(`${name} works again`, () => load.works(replica), TIMEOUT)),
    )
  }
  await recovered('at the beginning', replicas)

  const kills = shuffled([
    ...(['envoy', 'gateway', 'admin', 'sandbox'] as const).map((kind, index) => async () => {
      const replica = replicas[(index + Math.floor(random() * 2)) % 2] as Sidevault
      const pid = partOf(replica, kind)
      if (pid === undefined) throw new Error(`there is no ${kind}`)
      killQuietly(pid)
      await recovered(kind, [replica])
    }),
    async () => {
      await postgres.kill()
      await delay(random() * 1_500)
      await postgres.start()
      await recovered('PostgreSQL', replicas)
    },
    async () => {
      await redis.kill()
      await recovered('without Redis', replicas)
      await redis.start()
      await recovered('Redis', replicas)
    },
  ])
  for (const kill of kills) {
    await delay(random() * 700)
    await kill()
  }
  await load.stop()
  const acknowledged = load.creates.filter(({ id }) => id !== undefined)
  t.comment(
    `${load.sent.size} proxied calls, ${acknowledged.length} of ${load.creates.length} creates acknowledged`,
  )
  t.comment(`rejected in the meantime: ${JSON.stringify(Object.fromEntries(load.rejected))}`)
  t.same(load.violations, [], 'nothing failed but as the table of errors says, and nothing hung')

  const whole = destination.received.filter(({ body }) => body !== undefined)
  t.ok(whole.length > 50, `the destination received ${whole.length} calls`)
  const traces: string[] = []
  for (const { body, headers } of whole) {
    const { trace, card } = JSON.parse(String(body))
    if (card !== load.sent.get(trace)) t.fail(`the destination got ${body} ${JSON.stringify(headers)}`)
    traces.push(trace)
  }
  t.equal(new Set(traces).size, traces.length, 'no call arrived twice')

  const missing = async () => {
    const rows = await queryPostgres<{ trace_id: string }>(
      world.database,
      'select distinct trace_id from logs where trace_id = any($1)',
      [traces],
    )
    const known = new Set(rows.map((row) => row.trace_id))
    return traces.filter((trace) => !known.has(trace))
  }
  await until('every disclosure has its record', async () => (await missing()).length === 0, TIMEOUT)
  t.same(await missing(), [], 'every disclosure that the destination saw has its record')

  const replica = replicas[1] as Sidevault
  const repeat = ({ key, unique }: (typeof load.creates)[number]) =>
    replica.call('POST', '/tokens', {
      key: load.key,
      headers: { 'svc-idempotency-key': key },
      body: { data: unique, metadata: { unique } },
    })
  // A response that PostgreSQL could not store while it was down is stored later; until then, a client is to retry.
  const settled = async (create: (typeof load.creates)[number]) => {
    let again = await repeat(create)
    await until(
      `a final response for ${create.key}`,
      async () => {
        if (!again.headers.has('retry-after')) return true
        again = await repeat(create)
        return false
      },
      TIMEOUT,
    )
    return again
  }
  const differing: string[] = []
  let unknown = 0
  for (const create of acknowledged.slice(-60)) {
    const again = await settled(create)
    // Its process was killed before PostgreSQL was back: the response says so, and nothing is done twice.
    if (NOT_KNOWN.test(again.text)) unknown++
    else if (again.json?.id !== create.id) differing.push(`${create.key}: ${again.status} ${again.text}`)
  }
  t.same(differing, [], 'a repetition on any replica gets the first response')
  t.ok(
    unknown <= replicas.length,
    `of what each lane was at when its process was killed: ${unknown} not known`,
  )

  // As if a minute had passed: no lease is waited for any more.
  await queryPostgres(
    world.database,
    `update idempotency_keys set running_until = 1,
      expires_at = case when expires_at = running_until then 1 else expires_at end where sealed is null`,
  )
  const unfinished = load.creates.filter(({ id }) => id === undefined)
  const ends = await Promise.all(unfinished.map(async (create) => (await repeat(create)).status))
  t.same(
    ends.filter((status) => status !== 201 && status !== 409),
    [],
    `what was never acknowledged is done now, or rejected as unknown: ${ends}`,
  )
  const doubled = await queryPostgres<{ value: string; count: string }>(
    world.database,
    `select value, count(*) as count from token_metadata where key = 'unique' group by value having count(*) > 1`,
  )
  t.same(doubled, [], 'no idempotent create took effect twice')
  let lost = 0
  for (const { id } of acknowledged)
    if ((await replica.call('GET', `/tokens/${id}`, { key: load.key })).status !== 200) lost++
  t.equal(lost, 0, 'every acknowledged token is there')
  world.journalsHold(t)
}
