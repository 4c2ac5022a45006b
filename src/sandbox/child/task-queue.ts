import type { Socket } from 'node:net'
import type { MessageWriter } from './message-writer.ts'

interface Deps {
  readonly socket: Socket
  readonly writer: MessageWriter
  /** The queue is empty; called before the last flush. */
  readonly onIdle: () => void
}

/**
 * Runs a child's tasks one after the other. Between tasks it reads messages (a cancellation). A task starts only when
 * all messages are with the parent, which must know which code a child is stuck in. Buffered messages are written with
 * the next entry, or when the queue is empty.
 */
export const createTaskQueue = ({ socket, writer, onIdle }: Deps) => {
  const tasks: (() => void)[] = []
  let idle: (() => void)[] = []
  let planned = false

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
    const task = tasks.shift() ?? idle.shift()
    if (task === undefined) {
      onIdle()
      writer.flush()
    } else {
      task()
      plan()
    }
  }

  return {
    add: (task: () => void): void => {
      tasks.push(task)
      plan()
    },
    /** Runs the first task synchronously, after messages were read. */
    now: (): void => {
      if (socket.writableLength === 0) tasks.shift()?.()
    },
    /** Queues a task only if the queue is empty; returns whether it did. */
    next: (task: () => void): boolean => {
      if (tasks.length > 0) return false
      tasks.push(task)
      plan()
      return true
    },
    /** Queues a task of low priority; only the last eight are retained. */
    idle: (task: () => void): void => {
      idle = [...idle.slice(-7), task]
      plan()
    },
  }
}
