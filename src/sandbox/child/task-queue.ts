import type { Socket } from 'node:net'
import type { MessageWriter } from './message-writer.ts'

type Task = () => void

interface Deps {
  readonly socket: Socket
  readonly writer: MessageWriter
  /** The queue is empty; called before the last flush. */
  readonly onIdle: () => void
}

/**
 * Runs a child's tasks one after the other: tenants take turns, each tenant's tasks are in order. Between tasks it
 * reads messages (a cancellation). A task starts only when all messages are with the parent, which must know which code
 * a child is stuck in. Buffered messages are written with the next entry, or when the queue is empty.
 */
export const createTaskQueue = ({ socket, writer, onIdle }: Deps) => {
  /** Tasks by tenant. */
  const waiting = new Map<string, Task[]>()
  /** Tenant of the last task. */
  let last = ''
  let idle: Task[] = []
  let planned = false

  /** Moves the last tenant behind the others, and takes a task of the first one. */
  const take = (): Task | undefined => {
    const own = waiting.get(last)
    if (own !== undefined && waiting.delete(last)) waiting.set(last, own)
    const [first] = waiting
    if (first === undefined) return undefined
    const [tenantId, tasks] = first
    last = tenantId
    if (tasks.length === 1) waiting.delete(tenantId)
    return tasks.shift()
  }

  const plan = () => {
    if (planned) return
    planned = true
    setImmediate(step)
  }

  const step = () => {
    planned = false
    if (socket.writableLength > 0) {
      planned = true
      // no 'drain' event below the high water mark
      setTimeout(step, 1)
      return
    }
    const task = take() ?? idle.shift()
    if (task === undefined) {
      onIdle()
      writer.flush()
    } else {
      task()
      plan()
    }
  }

  const add = (tenantId: string, task: Task): void => {
    const tasks = waiting.get(tenantId)
    if (tasks === undefined) waiting.set(tenantId, [task])
    else tasks.push(task)
    plan()
  }

  return {
    add,
    /** Runs the first task synchronously, after messages were read. */
    now: (): void => {
      if (socket.writableLength === 0) take()?.()
    },
    /** Queues a task only if the queue is empty; returns whether it did. */
    next: (tenantId: string, task: Task): boolean => {
      if (waiting.size > 0) return false
      add(tenantId, task)
      return true
    },
    /** Queues a task of low priority; only the last eight are retained. */
    idle: (task: Task): void => {
      idle = [...idle.slice(-7), task]
      plan()
    },
  }
}
