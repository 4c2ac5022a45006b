import type { ChildProcess } from 'node:child_process'

/** Loading a standby costs a second of CPU, which a service that has just started has other use for. */
const PAUSE_MS = 10_000

export interface Standby {
  /** Loads one process some seconds from now, and another after each that was taken or ended. */
  prepare(): void
  /** The process that is ready, if there is one. It belongs to the caller. */
  take(): ChildProcess | undefined
  close(): void
}

/**
 * One process that has loaded its modules and waits for work. Loading takes most of a process's start, and what dies
 * must be back within a second also on a busy machine.
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
      return undefined // no memory for it at the moment
    }
  }
  const load = () => {
    const spawned = spawnStandby()
    if (spawned === undefined) return prepare()
    child = spawned
    const gone = () => {
      if (child !== spawned) return
      child = undefined
      prepare()
    }
    spawned.on('error', gone)
    spawned.once('exit', gone)
  }
  const take = () => {
    const applied = child
    child = undefined
    return applied
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
