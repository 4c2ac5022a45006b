import type { Socket } from 'node:net'
import t from 'tap'
import type { MessageWriter } from '../../../src/sandbox/child/message-writer.ts'
import { createTaskQueue } from '../../../src/sandbox/child/task-queue.ts'

const openQueue = () => {
  const ran: string[] = []
  const idle = Promise.withResolvers<void>()
  const queue = createTaskQueue({
    socket: { writableLength: 0 } as Socket,
    writer: { write: () => {}, flush: () => {}, hasPending: false } satisfies MessageWriter,
    onIdle: idle.resolve,
  })
  const add = (tenantId: string, name: string, then?: () => void) =>
    queue.add(tenantId, () => {
      ran.push(name)
      then?.()
    })
  return { queue, ran, add, idle: idle.promise }
}

t.test("tenants take turns, each tenant's tasks in order", async (t) => {
  const { ran, add, idle } = openQueue()
  for (const each of [1, 2, 3, 4]) add('a', `a${each}`)
  add('b', 'b1')
  add('b', 'b2')
  add('c', 'c1')
  await idle
  t.same(ran, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('a task that arrives while another tenant has many runs next', async (t) => {
  const { queue, ran, add, idle } = openQueue()
  add('a', 'a1')
  add('a', 'a2', () => add('b', 'b1'))
  add('a', 'a3')
  queue.now()
  t.same(ran, ['a1'])
  await idle
  t.same(ran, ['a1', 'a2', 'b1', 'a3'])
})
