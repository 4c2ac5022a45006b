import type { Test } from 'tap'
import type { Clock } from '../../src/common/clock.ts'
import type { SharedState } from '../../src/shared-state/types.ts'
import { testClock } from '../kit/service.ts'

/** What every driver of the shared state keeps. `open`: a state that counts by the clock and holds nothing yet. */
export const sharedStateContract = (t: Test, open: (t: Test, clock: Clock) => Promise<SharedState>): void => {
  t.test("a bucket allows a minute's rate at once, then one after the other", async (t) => {
    const clock = testClock()
    const state = await open(t, clock)
    const take = async (bucket: string) => (await state.take([{ bucket, perMinute: 6 }])).wait?.ms ?? 0
    for (let i = 0; i < 6; i++) t.equal(await take('a'), 0)
    t.equal(await take('a'), 10_000)
    t.equal(await take('a'), 10_000, 'a rejected call costs nothing')
    t.equal(await take('b'), 0, 'another bucket')
    clock.advance(9_999)
    t.equal(await take('a'), 1)
    clock.advance(1)
    t.equal(await take('a'), 0)
    t.ok((await take('a')) > 0)
    clock.advance(60_000)
    for (let i = 0; i < 6; i++) t.equal(await take('a'), 0)
    t.ok((await take('a')) > 0)
  })

  t.test('rates that do not divide a minute allow exactly their number', async (t) => {
    const state = await open(t, testClock())
    for (const perMinute of [1, 7, 11, 997]) {
      const claims = [{ bucket: `of ${perMinute}`, perMinute }]
      const takes = await Promise.all(Array.from({ length: perMinute + 5 }, () => state.take(claims)))
      t.equal(takes.filter(({ wait }) => wait === undefined).length, perMinute, 'also when all come at once')
    }
  })

  t.test('claims are granted in turn, up to the first that has to wait', async (t) => {
    const state = await open(t, testClock())
    const claims = [
      { bucket: 'wide', perMinute: 4 },
      { bucket: 'narrow', perMinute: 2 },
    ]
    t.same(await state.take(claims), { fullIn: [15_000, 30_000] })
    t.same(await state.take(claims), { fullIn: [30_000, 60_000] })
    t.same(await state.take(claims), { fullIn: [45_000, 60_000], wait: { claim: 1, ms: 30_000 } })
    const [first] = claims
    t.same(await state.take([first!]), { fullIn: [60_000] }, 'the first claim was taken, the second not')
    t.same(await state.take(claims), { fullIn: [60_000], wait: { claim: 0, ms: 15_000 } })
    t.same(await state.take([]), { fullIn: [] })
  })

  t.test('a clock that moves backwards delays no caller longer than a minute', async (t) => {
    const clock = testClock()
    const state = await open(t, clock)
    const claims = [{ bucket: 'a', perMinute: 2 }]
    for (let i = 0; i < 2; i++) t.equal((await state.take(claims)).wait, undefined)
    clock.advance(-3_600_000)
    t.same(await state.take(claims), { fullIn: [60_000], wait: { claim: 0, ms: 30_000 } })
    clock.advance(30_000)
    t.equal((await state.take(claims)).wait, undefined)
  })
}
