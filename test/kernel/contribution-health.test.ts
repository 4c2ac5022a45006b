import { pino } from 'pino'
import t from 'tap'
import { createContributionHealth, mergeHealth } from '../../src/kernel/contribution-health.ts'
import type { HealthSource } from '../../src/kernel/types.ts'

const world = (healths: Readonly<Record<string, HealthSource['health']>>, timeoutMs = 5) => {
  const lines: { readonly [member: string]: unknown }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const sources = Object.entries(healths).map(
    ([name, health]): HealthSource => ({
      kind: 'job',
      plugin: 'mine',
      component: `job:mine/${name}`,
      health,
    }),
  )
  const { round, checks, stop } = createContributionHealth({ sources, log }, { timeoutMs })
  const state = (name: string) => checks[`job:mine/${name}`]?.()
  return { round, checks, stop, state, lines }
}

t.test('a contribution is ok until it reports that it is degraded', async (t) => {
  let result: { degraded: string } | undefined
  const { round, state } = world({ a: async () => result })
  t.same(await state('a'), { degraded: false, details: {} })
  result = { degraded: 'The list is a day old.' }
  await round()
  t.same(await state('a'), { degraded: true, details: { detail: 'The list is a day old.' } })
  result = undefined
  await round()
  t.same(await state('a'), { degraded: false, details: {} })
})

t.test('a health function that hangs is degraded, called once, and holds up nothing', async (t) => {
  let calls = 0
  let signal: AbortSignal | undefined
  const settle = Promise.withResolvers<undefined>()
  const { round, state } = world({
    hung: (given) => {
      calls++
      signal = given
      return settle.promise
    },
    other: async () => ({ degraded: 'Still asked.' }),
  })
  const asking = round()
  t.same(await state('hung'), { degraded: false, details: {} }, 'its state is not waited for')
  await asking
  t.match(await state('hung'), { degraded: true, details: { detail: /did not settle within/ } })
  t.match(await state('other'), { degraded: true })
  t.equal(signal?.aborted, true)
  await round()
  t.equal(calls, 1)
  settle.resolve(undefined)
  await settle.promise
  await round()
  t.equal(calls, 2)
})

t.test('what a health function throws is in the log only', async (t) => {
  const { round, state, lines } = world({
    rejects: async () => {
      throw new Error('password=hunter2')
    },
    throws: () => {
      throw new Error('at once')
    },
  })
  await round()
  await round()
  for (const name of ['rejects', 'throws'])
    t.match(await state(name), { degraded: true, details: { detail: /^Its health function failed/ } })
  t.match(lines, [
    { plugin: 'mine', component: 'job:mine/rejects', err: { message: 'password=hunter2' } },
    { plugin: 'mine', component: 'job:mine/throws', err: { message: 'at once' } },
  ])
  t.equal(lines.length, 2, 'once for many')
})

t.test('a result that is no sentence is not shown', async (t) => {
  const results: readonly unknown[] = [
    null,
    'bad',
    { degraded: 7 },
    { degraded: 'a\nb' },
    { degraded: 'x'.repeat(301) },
  ]
  for (const result of results) {
    const { round, state } = world({ a: async () => result as undefined })
    await round()
    t.match(await state('a'), {
      degraded: true,
      details: { detail: /^Its health function returned neither/ },
    })
  }
})

t.test('a health function that blocks the event loop is named in the log', async (t) => {
  const block = async () => {
    for (const end = performance.now() + 300; performance.now() < end; );
    return undefined
  }
  const { round, lines } = world({ quick: async () => undefined, blocks: block }, 60_000)
  await round()
  t.match(lines, [
    { plugin: 'mine', component: 'job:mine/blocks', ms: Number, msg: /event loop was blocked/ },
  ])
  t.equal(lines.length, 1)
})

t.test('no health function is called after a stop', async (t) => {
  let calls = 0
  const { round, stop } = world({ a: async () => void calls++ as undefined })
  stop()
  await round()
  t.equal(calls, 0)
})

t.test('a component with a state of its own is degraded if either is', async (t) => {
  const of = (degraded: boolean, details: Record<string, string>) => async () => ({ degraded, details })
  const merged = mergeHealth(
    { a: of(false, { outcome: 'ok' }), b: of(true, {}) },
    { a: of(true, { detail: 'Slow.' }), c: of(false, {}) },
  )
  t.same(await merged.a?.(), { degraded: true, details: { outcome: 'ok', detail: 'Slow.' } })
  t.same(await merged.b?.(), { degraded: true, details: {} })
  t.same(await merged.c?.(), { degraded: false, details: {} })
})
