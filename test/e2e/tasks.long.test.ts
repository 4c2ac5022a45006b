/**
 * Consumers and webhooks of three replicas under load, while the process that has the consumer, its replica and
 * PostgreSQL are killed at each step of a batch and of a delivery, and while replicas are frozen. Every row of the
 * audit log reaches a consumer, and a receiver. `SIDEVAULT_TEST_MINUTES` (default 10): how long there is load.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startReceivers } from '../kit/post-receiver.ts'
import { postgresMissing, queryPostgres } from '../kit/postgres.ts'
import { noRedis } from '../kit/redis.ts'
import { startReplicas } from '../kit/replicas.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { until } from '../kit/until.ts'
import { disturbancesOf } from './disturbances.ts'

const MINUTES = Number(process.env.SIDEVAULT_TEST_MINUTES ?? 10)
const CALLS_PER_SECOND = 30
/** Of one replica; further ones are not made. */
const MAX_IN_FLIGHT = 10
/** ms in which the last events are delivered: repetitions wait for the job that finds them. */
const DRAIN_MS = 300_000

/** Notes what it handles. Waits at a step of a batch while there is a file of its name. */
const WITNESS = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
const note = (what, ...rest) => appendFileSync('FOLDER/lines', [what, process.pid, ...rest].join(' ') + '\\n')
const step = async (name) => {
  if (existsSync('FOLDER/' + name)) note(name)
  while (existsSync('FOLDER/' + name)) await setTimeout(5)
}
const handle = async (records) => {
  const positions = records.map(({ position }) => position)
  const half = positions.length >> 1
  await step('before')
  note('handled', ...positions.slice(0, half))
  await step('in')
  note('handled', ...positions.slice(half))
  await step('after')
}
export const plugin = {
  api: 1,
  name: 'witness',
  version: '1.0.0',
  setup: () => ({ consumers: [{ name: 'rows', from: 'start', handle }] }),
}
`

const skip = postgresMissing({ own: true }) || (await noRedis())

t.test('every row of the audit log is delivered', { skip, timeout: (MINUTES + 20) * 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sidevault-tasks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string) => join(folder, name)
  const { startReceiver, outbound } = await startReceivers(t)
  const [receiver, destination] = [await startReceiver(t, []), await startReceiver(t, [])]
  for (const [name, text] of [
    ['package.json', '{"type":"module"}'],
    ['index.js', WITNESS.replaceAll('FOLDER', folder)],
    ['ca.pem', outbound.trust],
    ['lines', ''],
  ] as const)
    writeFileSync(file(name), text)

  const replicas = await startReplicas(t, [{}, {}, {}], {
    SIDEVAULT_PLUGINS: `*,${folder}`,
    SIDEVAULT_EGRESS_ALLOW: outbound.allow.join(),
    SIDEVAULT_EGRESS_PORTS: outbound.ports,
    SIDEVAULT_EGRESS_DNS: `127.0.0.1:${outbound.resolvers[0].port}`,
    SIDEVAULT_EGRESS_CA: file('ca.pem'),
  })
  const { postgres, redis } = replicas
  const all = [...replicas.all]
  const started = [...all]
  const env = { ...replicas.env, SIDEVAULT_REDIS_URL: redis.url }
  const database = new URL(postgres.admin)
  database.pathname = new URL(String(replicas.env.SIDEVAULT_STORE)).pathname
  // Of the superuser: the owner meets no row of a tenant that it does not name.
  const query = <R extends object>(text: string, values: readonly unknown[] = []) =>
    queryPostgres<R>(database.href, text, values)

  /** What the consumer notes: a word, the process, positions. */
  const noted: (readonly string[])[] = []
  const positions = new Set<number>()
  let bytes = 0
  const lines = () => {
    const text = readFileSync(file('lines')).subarray(bytes)
    const end = text.lastIndexOf('\n') + 1
    bytes += end
    for (const line of text.toString('latin1', 0, end).split('\n').slice(0, -1)) {
      noted.push(line.split(' '))
      for (const position of line.split(' ').slice(2)) positions.add(Number(position))
    }
    return noted
  }
  const handled = () => {
    lines()
    return positions
  }
  const newest = async () => Number((await query<{ seq: string }>('select max(seq) seq from logs'))[0]?.seq)
  const readyAgain = () =>
    Promise.all(
      all.map((replica) =>
        until('a replica is ready', async () => {
          const ready = await replica.call('GET', '/readyz').catch(() => undefined)
          return ready?.status === 200
        }),
      ),
    )
  /** All rows that are there now get to the consumer. */
  const caughtUp = async () => {
    const last = await newest()
    await until('the consumer has handled what was there', () => handled().has(last))
  }

  const [first] = all as [Sidevault]
  const { managementKey: key } = first
  const permissions = ['token:create', 'token:read', 'token:use']
  const own = await first.application({ permissions })
  const { json: types } = await first.call('GET', '/webhooks/event-types', { key })
  const events = types.map(({ value }: { value: string }) => value)
  const webhook = await first.call('POST', '/webhooks', {
    key,
    body: { name: 'W', url: receiver.url, events },
  })
  t.equal(webhook.status, 201)

  interface Row {
    readonly trace_id: string
    readonly created_at: string
    readonly entity_id: string
  }
  const keyOf = ({ trace_id, created_at, entity_id }: Row) => `${trace_id} ${created_at} ${entity_id}`
  const logs = async (): Promise<readonly Row[]> => {
    const rows: Row[] = []
    for (let start: string | undefined = ''; start !== undefined; ) {
      const path = `/logs?size=1000&start=${encodeURIComponent(start)}`
      const { json } = await all[0]!.call('GET', path, { key })
      rows.push(...json.data)
      start = json.pagination.next
    }
    return rows
  }
  const earlier = new Set((await logs()).map(keyOf))

  // Load
  const created: string[] = []
  const outcomes: Record<string, number> = {}
  const inFlight = new Map<number, number>()
  const calls = [
    async (replica: Sidevault) => {
      const response = await replica.call('POST', '/tokens', { key: own, body: { data: 'secret' } })
      if (response.status === 201) created.push(response.json.id)
      return response
    },
    (replica: Sidevault) => replica.call('GET', `/tokens/${created.at(-5) ?? created[0]}`, { key: own }),
    (replica: Sidevault) =>
      replica.call('POST', '/proxy', {
        key: own,
        headers: { 'svc-proxy-url': destination.url },
        body: { a: `{{ ${created.at(-5) ?? created[0]} }}` },
      }),
  ]
  await calls[0]!(first)
  const make = async (turn: number): Promise<void> => {
    const at = turn % all.length
    const count = inFlight.get(at) ?? 0
    if (count >= MAX_IN_FLIGHT) return
    inFlight.set(at, count + 1)
    const kind = Math.floor(turn / all.length) % calls.length
    const outcome = await calls[kind]!(all[at]!).then(
      ({ status }) => `${status}`,
      () => 'no response',
    )
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    inFlight.set(at, (inFlight.get(at) ?? 0) - 1)
  }
  const ends = performance.now() + MINUTES * 60_000
  let isOver = false
  const load = (async () => {
    const made = new Set<Promise<void>>()
    for (let turn = 0; !isOver; turn++) {
      const call = make(turn).finally(() => made.delete(call))
      made.add(call)
      await delay(1_000 / CALLS_PER_SECOND)
    }
    await Promise.all(made)
  })()

  const disturbances = disturbancesOf({
    ...{ all, postgres, query, newest, receiver, destination },
    restart: async (at) => {
      const { dataDir, port } = all[at]!
      const restarted = await startSidevault({ dataDir, port, env })
      t.teardown(() => restarted.stop())
      started.push(restarted)
      all[at] = restarted
    },
    hold: async (step) => {
      const before = lines().length
      writeFileSync(file(step), '')
      await until(step, () =>
        lines()
          .slice(before)
          .some(([what]) => what === step),
      )
      return () => rmSync(file(step))
    },
  })
  let count = 0
  await caughtUp()
  try {
    for (; performance.now() < ends; count++) {
      // 7 has no divisor in common with their number: neighbours differ.
      const { name, disturb } = disturbances[(count * 7) % disturbances.length]!
      const began = performance.now()
      await disturb()
      await readyAgain()
      await caughtUp()
      const ms = Math.round(performance.now() - began)
      t.comment(`${name}: ${ms} ms until the consumer had caught up`)
      await delay(1_000)
    }
  } finally {
    isOver = true
    await load
  }

  await Promise.all(all.map((replica) => replica.call('GET', '/logs?size=1', { key })))
  const rows = (await logs()).filter((row) => !earlier.has(keyOf(row)))
  await caughtUp()
  const seqs = (await query<{ seq: string }>('select seq from logs')).map(({ seq }) => Number(seq))
  const seen = handled()
  t.strictSame(
    seqs.filter((seq) => !seen.has(seq)),
    [],
    'the consumer got every row',
  )

  /** Rows without an event, which is one with an `event.id` of its own. */
  const missing = () => {
    const ids = new Set<string>()
    const left = new Map<string, number>()
    for (const { text, status } of receiver.posts) {
      const { id, trace_id, timestamp, data } = JSON.parse(text).event
      if (status === 0 || ids.has(id)) continue
      ids.add(id)
      const [entity] = Object.entries<{ id: string }>(data).find(([name]) => name !== 'actor') ?? []
      const name = keyOf({ trace_id, created_at: timestamp, entity_id: data[entity ?? ''].id })
      left.set(name, (left.get(name) ?? 0) + 1)
    }
    return rows.filter((row) => {
      const name = keyOf(row)
      const events = left.get(name) ?? 0
      left.set(name, events - 1)
      return events < 1
    })
  }
  for (const end = performance.now() + DRAIN_MS; missing().length > 0 && performance.now() < end; )
    await delay(2_000)
  t.strictSame(missing(), [], 'the receiver got an event for every row')
  const recorded = new Set(rows.map(({ entity_id }) => entity_id))
  t.strictSame(
    created.filter((id) => !recorded.has(id)),
    [],
    'every token that was created is in the log',
  )
  const exits = started.flatMap(({ stdout, stderr }) =>
    `${stdout()}${stderr()}`.split('\n').filter((line) => line.includes('"msg":"process exited')),
  )
  t.ok(exits.length > 0)
  t.strictSame(
    exits.filter((line) => !line.includes('"signal":"SIGKILL"')),
    [],
    'no process ended by itself',
  )
  t.comment(
    `${count} disturbances, ${rows.length} rows, ${receiver.posts.length} requests, ${created.length} tokens`,
  )
  t.comment(`calls: ${JSON.stringify(outcomes)}`)
})
