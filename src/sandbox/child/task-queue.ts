import type { Socket } from 'node:net'
import type { MessageWriter } from './message-writer.ts'

interface Deps {
  readonly socket: Socket
  readonly writer: MessageWriter
  /** There is nothing left to do, and what there is to say can still be said. */
  readonly onRest: () => void
}

/**
 * What a child has to do, one task after the other: between two of them it reads what has arrived (a cancellation), and it
 * begins none before everything it said is with the parent, which otherwise could not tell whose code it is stuck in. What is
 * held back goes out with the next entry, or when there is nothing left to do.
 */
export const createTaskQueue = ({ socket, writer: speaker, onRest }: Deps) => {
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
      // 'drain' comes only when more was waiting than a stream likes to hold: a small rest goes without a word.
      setTimeout(step, 1)
      return
    }
    const task = tasks.shift() ?? idle.shift()
    if (task === undefined) {
      onRest()
      speaker.flush()
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
    /** Does the first of what waits, for whoever has just read what arrived. */
    now: (): void => {
      if (socket.writableLength === 0) tasks.shift()?.()
    },
    /** Does it before all else when nothing waits, and tells whether it will. */
    next: (task: () => void): boolean => {
      if (tasks.length > 0) return false
      tasks.push(task)
      plan()
      return true
    },
    /** For when there is nothing else to do; only the last few wishes are kept. */
    idle: (task: () => void): void => {
      idle = [...idle.slice(-7), task]
      plan()
    },
  }
}
