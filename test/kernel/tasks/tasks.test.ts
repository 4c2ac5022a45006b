import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createTasks } from '../../../src/kernel/tasks/tasks.ts'
import type { Task } from '../../../src/kernel/types.ts'
import type { Consumer, Job, LogEntry } from '../../../src/sdk/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { storeInThread } from '../../kit/store-in-thread.ts'
import { aLog } from '../../store/kit.ts'

const plugin = 'siem'
const consumerOf = (handle: Consumer['handle'], more: Partial<Consumer> = {}): Task => ({
  kind: 'consumer',
  plugin,
  name: 'siem/export',
  consumer: { name: 'export', from: 'start', handle, ...more },
})
const jobOf = (run: Job['run']): Task => ({
  kind: 'job',
  plugin,
  name: 'siem/tidy',
  job: { name: 'tidy', every: 10, run },
})

/** A store with logs, and processes over it. */
const world = (t: Test, records = 3) => {
  const { store, db } = storeInThread(join(t.testdir(), 'vault.db'))
  const lines: { msg: string; [member: string]: unknown }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const stops: (() => Promise<void>)[] = []
  t.teardown(async () => {
    await Promise.all(stops.map((stop) => stop()))
    await store.close()
  })
  const ingest = (from: number, to: number) =>
    store.logs.ingest(Array.from({ length: to - from }, (_, index) => aLog(from + index)))
  const start = (holder: string, tasks: readonly Task[], over: Partial<Store> = {}) => {
    const registry = new Registry()
    const started = createTasks({ store: { ...store, ...over }, tasks, registry, log }, holder)
    stops.push(started.stop)
    return { ...started, registry }
  }
  return {
    ...{ store, db, lines, ingest, start },
    filled: ingest(0, records),
    /** As after 30 s without a renewal. */
    expireLeases: () => db.exec('update plugin_tasks set leased_until = 0'),
  }
}

const collecting = () => {
  const batches: (readonly LogEntry[])[] = []
  const handle = async (records: readonly LogEntry[]) => void batches.push(records)
  return { batches, handle, positions: () => batches.flat().map(({ position }) => position) }
}

t.test('a consumer gets all records in order, at most 500 at a time', async (t) => {
  const { filled, start } = world(t, 1_200)
  await filled
  const { batches, handle, positions } = collecting()
  const { round } = start('a', [consumerOf(handle)])
  await round()
  t.strictSame(
    batches.map(({ length }) => length),
    [500, 500, 200],
  )
  t.strictSame(
    positions(),
    [...positions()].sort((a, b) => a - b),
  )
  t.match(batches[0]?.[0], { tenant_id: 'tenant-a', trace_id: 'trace', position: positions()[0] })
  await round()
  t.equal(batches.length, 3)
})

t.test('a consumer that is idle gets the records after its idle time only', async (t) => {
  const { filled, ingest, start } = world(t)
  await filled
  const { batches, handle, positions } = collecting()
  let isIdle = true
  const { round } = start('a', [consumerOf(handle, { isIdle: async () => isIdle })])
  await round()
  isIdle = false
  await round()
  t.strictSame(batches, [])
  await ingest(3, 5)
  await round()
  t.equal(positions().length, 2)
})

t.test('one process of several has a consumer; at its stop another one continues', async (t) => {
  const { filled, ingest, start } = world(t)
  await filled
  const [a, b] = [collecting(), collecting()]
  const first = start('a', [consumerOf(a.handle)])
  const second = start('b', [consumerOf(b.handle)])
  await first.round()
  await ingest(3, 5)
  await second.round()
  t.equal(b.batches.length, 0)
  await first.stop()
  await second.round()
  t.equal(a.positions().length, 3)
  t.equal(b.positions().length, 2)
  t.equal(new Set([...a.positions(), ...b.positions()]).size, 5)
})

t.test('a process that was killed leaves no lease behind its next start', async (t) => {
  const { filled, ingest, start } = world(t)
  await filled
  const { handle, positions } = collecting()
  await start('a', [consumerOf(handle)]).round()
  await ingest(3, 4)
  await start('a', [consumerOf(handle)]).round()
  t.equal(positions().length, 4)
})

t.test('records that a process handles while it loses its lease are delivered again', async (t) => {
  const { filled, start, expireLeases, store } = world(t)
  await filled
  const again = collecting()
  const second = start('b', [consumerOf(again.handle)])
  const slow = consumerOf(async () => {
    expireLeases()
    await second.round()
  })
  const first = start('a', [slow])
  await first.round()
  t.equal(again.positions().length, 3)
  const [row] = (await store.tasks.state()).tasks
  t.match(row, { holder: 'b', position: again.positions().at(-1) })
})

t.test(
  'a consumer that rejects keeps its position, is degraded, and waits before it is called again',
  async (t) => {
    const { filled, start, lines, store } = world(t)
    await filled
    let calls = 0
    const failing = consumerOf(async () => {
      calls++
      throw new Error('collector is down')
    })
    const { round, checks, registry } = start('a', [failing])
    await round()
    await round()
    t.equal(calls, 1)
    await round('all')
    t.equal(calls, 2, 'unless a test wants it')
    t.match(lines, [
      { plugin, consumer: 'siem/export', outcome: 'failed', failures: 1, retryMs: 1_000 },
      { failures: 2, retryMs: 2_000 },
    ])
    const check = await checks['consumer:siem/export']?.()
    t.match(check, { degraded: true, details: { outcome: 'failed', lag_seconds: Number } })
    t.equal((await store.tasks.state()).tasks[0]?.position, 0)
    t.match(await registry.metrics(), /sidevault_consumer_lag_seconds\{consumer="siem\/export"\} \d/)
  },
)

const block = async () => {
  await new Promise(setImmediate)
  for (const end = performance.now() + 300; performance.now() < end; );
}

t.test('a consumer that blocks the event loop is named in the log, with the milliseconds', async (t) => {
  const { filled, start, lines } = world(t)
  await filled
  await start('a', [consumerOf(block)]).round()
  t.match(lines, [{ plugin, consumer: 'siem/export', ms: Number, msg: /event loop was blocked/ }])
  t.ok(Number(lines[0]?.ms) >= 190)
})

t.test('a job that blocks the event loop is named in the log, with the milliseconds', async (t) => {
  const { start, lines } = world(t)
  await start('a', [jobOf(block)]).round()
  t.match(lines, [{ plugin, job: 'siem/tidy', ms: Number, msg: /event loop was blocked/ }])
})

t.test('a consumer that never resolves and ignores its signal is left behind at a stop', async (t) => {
  const { filled, start, store } = world(t)
  await filled
  const { round, stop } = start('a', [consumerOf(() => new Promise(() => {}))])
  const running = round()
  while ((await store.tasks.state()).tasks[0]?.holder !== 'a') await new Promise(setImmediate)
  await stop()
  await running
  t.match((await store.tasks.state()).tasks[0], { holder: null, leased_until: 0, position: 0 })
})

t.test('a job runs once in all processes, and again after its interval', async (t) => {
  const { start, store } = world(t)
  let runs = 0
  const job = jobOf(async () => void runs++)
  let now = 1_000_000
  const clock = { time: async () => now }
  const [a, b] = [start('a', [job], clock), start('b', [job], clock)]
  await Promise.all([a.round(), b.round()])
  t.equal(runs, 1)
  now += 9_999
  await Promise.all([a.round(), b.round()])
  t.equal(runs, 1)
  now += 1
  await Promise.all([a.round(), b.round()])
  t.equal(runs, 2)
  t.match(await a.checks['job:siem/tidy']?.(), {
    degraded: false,
    details: { outcome: 'ok', last_run: '1970-01-01T00:16:50.000+00:00', duration_ms: Number },
  })
  const metrics = await Promise.all([a, b].map(({ registry }) => registry.metrics()))
  const counted = metrics.map((text) => Number(/outcome="ok"\} (\d)/.exec(text)?.[1] ?? 0))
  t.equal(counted[0]! + counted[1]!, 2)
  t.equal((await store.tasks.state()).tasks[0]?.holder, null)
})

t.test('a job that a stop interrupts is due again at once; one that fails waits', async (t) => {
  const { start, store } = world(t)
  const hanging = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const first = start('a', [jobOf(hanging)])
  const running = first.round()
  while ((await store.tasks.state()).tasks[0]?.started_at == null) await new Promise(setImmediate)
  await first.stop()
  await running
  t.match((await store.tasks.state()).tasks[0], { outcome: 'interrupted', leased_until: 0 })
  let runs = 0
  const failing = jobOf(async () => {
    runs++
    throw new Error('no')
  })
  const second = start('b', [failing])
  await second.round()
  await second.round()
  t.equal(runs, 1)
  t.match(await second.checks['job:siem/tidy']?.(), { degraded: true, details: { outcome: 'failed' } })
})

t.test('a run whose process was killed counts, and is reported', async (t) => {
  const { start, store } = world(t)
  let now = 50_000
  let runs = 0
  const { round, checks } = start('a', [jobOf(async () => void runs++)], { time: async () => now })
  const job = { kind: 'job', name: 'siem/tidy' } as const
  await store.tasks.register([job], { now, purgeBefore: 0 })
  await store.tasks.acquire({ ...job, lease_number: 0 }, { holder: 'killed', now, until: now + 5_000 })
  const outcome = async () => (await checks['job:siem/tidy']?.())?.details.outcome
  t.equal(await outcome(), 'running')
  now += 9_999
  await round()
  t.equal(runs, 0)
  t.equal(await outcome(), 'interrupted')
  now += 1
  await round()
  t.equal(runs, 1)
})

t.test(
  'without consumers and jobs, nothing is read after the start, and old positions are removed',
  async (t) => {
    const { start, store } = world(t)
    const old = { kind: 'consumer', name: 'gone/old' } as const
    await store.tasks.register([old], { now: 0, purgeBefore: 0 })
    let reads = 0
    const tasks = {
      ...store.tasks,
      state: async () => {
        reads++
        return store.tasks.state()
      },
    }
    const { round, registry } = start('a', [], { tasks })
    await round()
    await round()
    t.equal(reads, 0)
    t.strictSame((await store.tasks.state()).tasks, [])
    t.strictSame(await registry.getMetricsAsJSON(), [])
  },
)
