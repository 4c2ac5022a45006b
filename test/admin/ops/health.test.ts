import t from 'tap'
import type { Log } from '../../../src/common/log.ts'
import { pluginOf } from '../../kernel/kit.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

t.test('healthz returns 200 without a key', async (t) => {
  const { call } = await startTestService(t, { openStore: openInThread, plugins: [] })
  const response = await call('GET', '/healthz', { key: null })
  t.equal(response.status, 200)
  t.strictSame(response.json, { status: 'ok' })
})

t.test(
  'readyz is 200 while every component is healthy, else 503 with their names and no reason',
  async (t) => {
    const state = { store: true, plugin: true }
    const plugin = pluginOf({
      health: async () => {
        if (!state.plugin) throw new Error('password=hunter2')
      },
    })
    const { call } = await startTestService(t, {
      openStore: openInThread,
      plugins: [plugin],
      admin: { partTimeout: 500 },
      checks: {
        store: async () => {
          if (!state.store) throw new Error('postgres://user:hunter2@db')
        },
        slow: (signal) =>
          state.store
            ? Promise.resolve()
            : new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
      },
    })
    const well = await call('GET', '/readyz', { key: null })
    t.equal(well.status, 200)
    t.strictSame(well.json, {
      status: 'ok',
      components: [
        { name: 'kernel', status: 'ok' },
        { name: 'store', status: 'ok' },
        { name: 'slow', status: 'ok' },
      ],
    })
    state.store = false
    state.plugin = false
    const ill = await call('GET', '/readyz', { key: null })
    t.equal(ill.status, 503)
    t.match(ill.json, {
      title: 'Not ready',
      status: 503,
      detail: /kernel, store, slow/,
      components: [
        { name: 'kernel', status: 'failed' },
        { name: 'store', status: 'failed' },
        { name: 'slow', status: 'failed' },
      ],
    })
    t.notMatch(ill.text, /hunter2/)
  },
)

t.test('a degraded component is named, and leaves the service ready', async (t) => {
  const sandbox = async () => ({ missing: ['uid'] })
  const job = async () => ({ degraded: true, details: { outcome: 'failed', duration_ms: 5 } })
  const checks = { redis: async () => 'degraded', sandbox, well: async () => ({ missing: [] }), job }
  const { call } = await startTestService(t, { openStore: openInThread, plugins: [], checks })
  const response = await call('GET', '/readyz', { key: null })
  t.equal(response.status, 200)
  t.match(response.json, {
    status: 'degraded',
    components: [
      {},
      { name: 'redis', status: 'degraded' },
      { name: 'sandbox', status: 'degraded', missing: ['uid'] },
      { name: 'well', status: 'ok' },
      { name: 'job', status: 'degraded', outcome: 'failed', duration_ms: 5 },
    ],
  })
})

t.test('a component is logged when it fails and when it recovers, and reports since when', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const lines: unknown[] = []
  const note = (level: string) => (entry: { component?: string }, message: string) => {
    if (entry.component === 'store') lines.push([level, message, entry])
  }
  const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') } as Log
  const state = { status: 'failed' }
  const { call } = await startTestService(t, {
    openStore: openInThread,
    plugins: [],
    log: Object.assign(log, { child: () => log }),
    clock: { now: () => now },
    checks: {
      store: async () => {
        if (state.status === 'failed') throw new Error('no store')
        return state.status
      },
    },
  })
  const ask = async () => (await call('GET', '/readyz', { key: null })).json.components[1]
  for (let second = 0; second < 5; second++) {
    t.same(await ask(), { name: 'store', status: 'failed', since: '2026-01-01T00:00:00.000+00:00' })
    now += 1000
  }
  state.status = 'degraded'
  t.same(await ask(), { name: 'store', status: 'degraded', since: '2026-01-01T00:00:05.000+00:00' })
  now += 2000
  state.status = 'ok'
  t.same(await ask(), { name: 'store', status: 'ok' })
  t.same(await ask(), { name: 'store', status: 'ok' })
  t.match(lines, [
    ['warn', 'component failed', { err: Error }],
    ['warn', 'component degraded'],
    ['info', 'component recovered', { was: 'degraded', ms: 2000 }],
  ])
  t.equal(lines.length, 3)
})

t.test('readyz fails when the journal cannot be written', async (t) => {
  const { call } = await startTestService(t, {
    openStore: openInThread,
    plugins: [],
    journal: (real) => ({
      append: (records) => real.append(records),
      health: async () => {
        throw new Error('no room')
      },
      close: () => real.close(),
    }),
  })
  t.equal((await call('GET', '/readyz')).status, 503)
})
