import t from 'tap'
import { commandNamed } from '../../../src/store/commands.ts'
import { createJobQueue } from '../../../src/store/sqlite/queue.ts'

const setUp = () => {
  const clock = { now: 0 }
  const queue = createJobQueue(() => clock.now)
  let number = 0
  const push = (name: string) => queue.push({ number: ++number, command: commandNamed(name), args: {} })
  const take = () => queue.take().map((job) => job.number)
  return { clock, queue, push, take }
}

t.test('waiting calls are run together, in order, and at most 512 of them', async (t) => {
  const { push, take } = setUp()
  t.same(take(), [])
  for (let i = 0; i < 600; i++) push('tokens.create')
  const first = take()
  t.equal(first.length, 512)
  t.same(
    [...first, ...take()],
    Array.from({ length: 600 }, (_, i) => i + 1),
  )
  t.same(take(), [])
})

t.test('maintenance runs one job at a time, when no call waits', async (t) => {
  const { queue, push, take } = setUp()
  push('logs.ingest')
  push('tokens.purge')
  push('tokens.create')
  t.same(take(), [3])
  t.same(take(), [1])
  t.same(take(), [])
  push('tokens.update')
  t.same(take(), [4])
  queue.settled()
  t.same(take(), [2])
})

t.test('maintenance that has waited long enough runs with the calls, so that it never starves', async (t) => {
  const { clock, queue, push, take } = setUp()
  push('logs.ingest')
  push('logs.ingest')
  const busy = () => {
    push('tokens.create')
    const group = take()
    queue.settled()
    return group
  }
  t.same(busy(), [3])
  clock.now = 4
  t.same(busy(), [4])
  clock.now = 5
  t.same(busy(), [5, 1])
  t.same(busy(), [6, 2])
  t.same(busy(), [7])
})

t.test('maintenance uses a fifth of the time while calls wait, however slow it is', async (t) => {
  const { clock, queue, push, take } = setUp()
  for (let i = 0; i < 3; i++) push('logs.ingest')
  const busyAt = (now: number) => {
    clock.now = now
    push('tokens.create')
    return take()
  }
  t.same(busyAt(100), [4, 1])
  clock.now = 150
  queue.settled()
  t.same(busyAt(349), [5])
  queue.settled()
  t.same(busyAt(350), [6, 2])
  clock.now = 360
  queue.settled()
  t.same(take(), [3], 'without calls it does not rest')
})

t.test('the time of calls in the same group is not counted as maintenance', async (t) => {
  const { clock, queue, push, take } = setUp()
  push('logs.ingest')
  push('logs.ingest')
  const busyAt = (now: number) => {
    clock.now = now
    push('tokens.create')
    return take()
  }
  t.same(busyAt(100), [3, 1])
  clock.now = 150
  queue.settled(2)
  t.same(busyAt(157), [4])
  queue.settled()
  t.same(busyAt(158), [5, 2])
})

t.test('cleared jobs do not run', async (t) => {
  const { queue, push, take } = setUp()
  push('tokens.create')
  push('logs.ingest')
  queue.clear()
  t.same(take(), [])
})
