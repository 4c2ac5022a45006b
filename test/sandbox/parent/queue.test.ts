import t from 'tap'
import type { Job } from '../../../src/sandbox/parent/job.ts'
import { createQueue } from '../../../src/sandbox/parent/queue.ts'

let ids = 0
const job = (tenantId: string, key = tenantId, over = false): Job => ({
  id: ++ids,
  source: { tenantId, key, name: 'code', code: '', memoryMib: 64, resultBytes: 1, logLines: 1, logBytes: 1 },
  repeatable: true,
  budgetMs: undefined,
  over,
  begin: () => {},
  onCall: () => {},
  onEnded: () => {},
  onChecked: () => {},
  fail: () => {},
})
const any = () => true

t.test('tenants are served in turn, however many jobs each has queued', async (t) => {
  const queue = createQueue()
  for (let i = 0; i < 3; i++) queue.add(job('a'), 'trusted')
  queue.add(job('b'), 'trusted')
  queue.add(job('c'), 'trusted')
  queue.add(job('b'), 'trusted')
  const order = Array.from({ length: 6 }, () => queue.next(any)?.source.tenantId)
  t.same(order, ['a', 'b', 'c', 'a', 'b', 'a'])
  t.equal(queue.next(any), undefined)
  t.equal(queue.size, 0)
})

t.test('a tenant with slow code waits until others have had as much, and so does a program', async (t) => {
  const queue = createQueue()
  const order = (count: number) => Array.from({ length: count }, () => queue.next(any)?.source.key)
  for (let i = 0; i < 2; i++) queue.add(job('a', 'long'), 'trusted')
  queue.next(any)
  queue.charge({ tenantId: 'a', key: 'long' }, 1_000)
  for (let i = 0; i < 3; i++) queue.add(job('a', 'short'), 'trusted')
  for (let i = 0; i < 3; i++) queue.add(job('b'), 'trusted')
  t.same(order(7), ['b', 'b', 'b', 'short', 'short', 'short', 'long'])
})

t.test('a trusted program is queued while suspect and unknown ones are rejected', async (t) => {
  const queue = createQueue()
  while (queue.add(job('a', 'suspect'), 'suspect'));
  const suspects = queue.size
  t.ok(suspects < 100)
  while (queue.add(job('a', 'unknown'), 'unknown'));
  t.notOk(queue.add(job('a', 'new'), 'unknown'))
  t.ok(queue.add(job('a', 'good'), 'trusted'))
  for (let i = 0; queue.add(job(`tenant ${i}`), 'unknown'); i++);
  t.ok(queue.add(job('b', 'good'), 'trusted'))
})

t.test('a job that cannot run now does not block others', async (t) => {
  const queue = createQueue()
  queue.add(job('a', 'slow'), 'trusted')
  queue.add(job('a', 'quick'), 'trusted')
  t.equal(queue.next(({ source }) => source.key !== 'slow')?.source.key, 'quick')
  t.equal(queue.next(any)?.source.key, 'slow')
})

t.test('a flood of one tenant is rejected at its limit, and leaves capacity to others', async (t) => {
  const queue = createQueue()
  let queued = 0
  while (queue.add(job('flood'), 'trusted')) queued++
  t.ok(queued < 1_000)
  t.ok(queue.add(job('other'), 'trusted'))
  queue.next(any)
  t.equal(queue.next(any)?.source.tenantId, 'other')
})

t.test("a requeued job is first among its tenant's, even when the queue is full", async (t) => {
  const queue = createQueue()
  while (queue.add(job('a'), 'trusted'));
  const again = job('a', 'again')
  queue.again(again)
  t.equal(queue.next(any), again)
})

t.test('finished jobs are dropped', async (t) => {
  const queue = createQueue()
  queue.add(job('a', 'a', true), 'trusted')
  queue.add(job('a', 'b'), 'trusted')
  t.equal(queue.next(any)?.source.key, 'b')
  t.equal(queue.size, 0)
})
