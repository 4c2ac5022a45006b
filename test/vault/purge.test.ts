import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import type { TokenStore } from '../../src/store/tokens/types.ts'
import { createPurge } from '../../src/vault/purge.ts'
import { CARD, openTestVault, START } from './kit.ts'

const log = createLog('test', 'silent')

t.test('a round removes due rows and nothing else', async (t) => {
  const { create, store, clock, tenant, vault, reveal } = await openTestVault(t, { own: true })
  const purge = createPurge({ stores: [store.tokens], clock, log }, { intervalMs: 1000 })
  await create({ data: 'expires', expires_at: '2026-03-01T12:30:00Z' })
  const { id } = await create({ type: 'card', data: CARD })
  t.equal(await purge.run(), 0)
  clock.at = START + 3_599_999
  t.same((await vault.get(id, reveal())).data, CARD)
  clock.at = START + 3_600_000
  const { cvc: _, ...rest } = CARD
  t.same((await vault.get(id, reveal())).data, rest, 'before it is purged, too')
  t.same((await vault.use([id], reveal())).get(id)?.data, rest)
  t.equal(await purge.run(), 2)
  const rows = await store.tokens.read(tenant, [id], START)
  t.match(rows, [{ ephemeral: null }])
  t.same((await vault.get(id, reveal())).data, rest)
  t.equal(await store.tokens.count({ tenantId: tenant, now: START, visibility: 'all' }), 1)
  t.equal(await purge.run(), 0)
})

/** A store with `purge` only, which returns these results in turn. */
const scripted = (results: (number | Error)[]) => {
  const calls: number[] = []
  const purge: TokenStore['purge'] = async (now) => {
    calls.push(now)
    const result = results.shift() ?? 0
    if (result instanceof Error) throw result
    return result
  }
  return { calls, stores: [{ purge }] }
}

t.test('a round continues while batches are full', async (t) => {
  const { calls, stores } = scripted([500, 700, 3])
  const purge = createPurge({ stores, clock: { now: () => 7 }, log }, { intervalMs: 1000 })
  t.equal(await purge.run(), 1203)
  t.same(calls, [7, 7, 7])
})

t.test('rows are removed by the earlier of the own and the shared clock', async (t) => {
  for (const [own, shared] of [
    [5, 9],
    [9, 5],
  ] as const) {
    const { calls, stores } = scripted([0])
    const deps = { stores, clock: { now: () => own }, time: async () => shared, log }
    await createPurge(deps, { intervalMs: 1000 }).run()
    t.same(calls, [5])
  }
})

t.test('rounds do not overlap, and stopping ends one', async (t) => {
  const { calls, stores } = scripted(Array(1000).fill(500))
  const purge = createPurge({ stores, clock: { now: () => 7 }, log }, { intervalMs: 1000 })
  const first = purge.run()
  t.equal(purge.run(), first)
  await purge.stop()
  t.ok(calls.length < 5, 'the round was cut short')
})

t.test('a failing store does not end the purge', async (t) => {
  const { calls, stores } = scripted([new Error('disk'), 1])
  const purge = createPurge({ stores, clock: { now: () => 7 }, log }, { intervalMs: 1 })
  purge.start()
  purge.start()
  const clock = setInterval(() => undefined, 1)
  await new Promise<void>((resolve) => {
    const watch = setInterval(() => {
      if (calls.length < 2) return
      clearInterval(watch)
      resolve()
    }, 1)
  })
  await purge.stop()
  clearInterval(clock)
  t.ok(calls.length >= 2)
})
