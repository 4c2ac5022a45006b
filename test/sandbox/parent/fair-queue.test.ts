import t from 'tap'
import { createFairClock } from '../../../src/sandbox/parent/fair-queue.ts'

t.test('an owner with less usage precedes one with more', async (t) => {
  const shares = createFairClock()
  shares.turn('long')
  shares.charge('long', 500)
  for (let i = 0; i < 100; i++) shares.turn('short')
  t.ok(shares.markOf('short') < shares.markOf('long'))
  for (let i = 0; i < 1_000; i++) shares.turn('short')
  t.ok(shares.markOf('short') > shares.markOf('long'), 'until it has had as much')
})

t.test('a new owner starts at the level of the others, without saved credit', async (t) => {
  const shares = createFairClock()
  for (let i = 0; i < 1_000; i++) shares.turn('early')
  t.ok(shares.markOf('late') >= 999)
})

t.test('a turn is charged before its duration is known, and only once', async (t) => {
  const shares = createFairClock()
  const before = shares.markOf('a')
  shares.turn('a')
  const mark = shares.markOf('a')
  t.ok(mark > before)
  shares.charge('a', 0.2)
  t.equal(shares.markOf('a'), mark)
  shares.charge('a', 10)
  t.equal(shares.markOf('a'), before + 10)
})
