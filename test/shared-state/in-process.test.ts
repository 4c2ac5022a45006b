import t from 'tap'
import { createInProcessState } from '../../src/shared-state/in-process.ts'
import { testClock } from '../kit/service.ts'

t.test('a bucket gives what a minute has at once, then one after the other', async (t) => {
  const clock = testClock()
  const state = createInProcessState({ clock })
  const rate = { perMinute: 6 }
  for (let i = 0; i < 6; i++) t.equal(await state.take('a', rate), 0)
  t.equal(await state.take('a', rate), 10_000)
  t.equal(await state.take('a', rate), 10_000, 'being refused costs nothing')
  t.equal(await state.take('b', rate), 0, 'another bucket')
  clock.advance(9_999)
  t.equal(await state.take('a', rate), 1)
  clock.advance(1)
  t.equal(await state.take('a', rate), 0)
  t.ok((await state.take('a', rate)) > 0)
  clock.advance(60_000)
  for (let i = 0; i < 6; i++) t.equal(await state.take('a', rate), 0)
  t.ok((await state.take('a', rate)) > 0)
})

t.test('rates that do not divide a minute give exactly their number', async (t) => {
  for (const perMinute of [1, 7, 11, 997]) {
    const state = createInProcessState({ clock: testClock() })
    for (let i = 0; i < perMinute; i++) t.equal(await state.take('a', { perMinute }), 0)
    t.ok((await state.take('a', { perMinute })) > 0)
  }
})
