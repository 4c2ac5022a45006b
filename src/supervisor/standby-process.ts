import type { ChildProcess } from 'node:child_process'

/** Delay before a standby is loaded, ms: loading takes a second of CPU, which a starting service needs itself. */
const PAUSE_MS = 10_000

export interface Standby {
  /** Loads a standby after a delay, and a new one whenever it was used or has ended. */
  prepare(): void
  /** Returns the standby process, if any. The caller owns it from then on. */
  take(): ChildProcess | undefined
  close(): void
}

/**
 * A process that has loaded its modules and waits for its `start` message. Loading is most of the start of a process,
 * and a process that ended must be replaced within a second even on a busy machine.
 */
export const createStandby = (spawn: () => ChildProcess): Standby => {
  let child: ChildProcess | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const prepare = () => {
    clearTimeout(timer)
    if (!closed && child === undefined) timer = setTimeout(load, PAUSE_MS)
  }
  const spawnStandby = (): ChildProcess | undefined => {
    try {
      return spawn()
    } catch {
      return undefined // Out of memory.
    }
  }
  const load = () => {
    const spawned = spawnStandby()
    if (spawned === undefined) return prepare()
    child = spawned
    const onEnd = () => {
      if (child !== spawned) return
      child = undefined
      prepare()
    }
    spawned.on('error', onEnd)
    spawned.once('exit', onEnd)
  }
  const take = () => {
    const standby = child
    child = undefined
    return standby
  }
  return {
    prepare,
    take,
    close: () => {
      closed = true
      clearTimeout(timer)
      take()?.kill('SIGKILL')
    },
  }
}
