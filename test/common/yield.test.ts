import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createYield } from '../../src/common/yield.ts'

t.test('many long calls share the turns of the event loop', async (t) => {
  let now = 0
  const due = createYield(() => now, 10)
  let turns = 0
  const steps: { readonly call: string; readonly turn: number }[] = []
  const work = async (call: string) => {
    for (let item = 0; item < 6; item++) {
      const pause = due()
      if (pause) await pause
      steps.push({ call, turn: turns })
      now += 5
    }
  }
  let isDone = false
  const tick = () => {
    turns++
    if (!isDone) setImmediate(tick)
  }
  setImmediate(tick)
  await Promise.all(['a', 'b', 'c'].map(work))
  isDone = true
  t.equal(steps.length, 18)
  t.strictSame(steps.map(({ call }) => call).join(''), 'aaaabbccaabbccbbcc', 'in line')
  for (const number of new Set(steps.map((step) => step.turn)))
    t.ok(steps.filter((step) => step.turn === number).length <= 2, `turn ${number}: 10 ms at most`)
})

t.test('work within its time slice is not delayed, and a later turn has a new slice', async (t) => {
  let now = 0
  const due = createYield(() => now, 10)
  for (now = 0; now < 10; now++) t.equal(due(), undefined)
  t.type(due(), Promise)
  await turn()
  await turn()
  await turn()
  now += 100
  t.equal(due(), undefined)
})

t.test('calls that wait continue before new ones, several in a slice', async (t) => {
  let now = 0
  const due = createYield(() => now, 10)
  now += due() === undefined ? 10 : 0
  const order: string[] = []
  const call = async (name: string, ms: number) => {
    await due()
    order.push(name)
    now += ms
  }
  const waiting = ['a', 'b', 'c'].map((name) => call(name, 4))
  setImmediate(() => waiting.push(call('new', 4)))
  await turn()
  t.same(order, ['a', 'b', 'c'], 'until the slice is used up')
  await turn()
  await Promise.all(waiting)
  t.same(order, ['a', 'b', 'c', 'new'])
})
