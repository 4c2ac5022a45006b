import type { ChildProcess } from 'node:child_process'

/** Deaths of spares are not urgent. */
const PAUSE_MS = 1_000

export interface Standby {
  /** Has one process ready for the next death; from now on. */
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

  const prepareLater = () => {
    clearTimeout(timer)
    timer = setTimeout(prepare, PAUSE_MS)
  }
  const spawnStandby = (): ChildProcess | undefined => {
    try {
      return spawn()
    } catch {
      return undefined // no memory for it at the moment
    }
  }
  const prepare = () => {
    if (closed || child !== undefined) return
    const spawned = spawnStandby()
    if (spawned === undefined) return prepareLater()
    child = spawned
    const gone = () => {
      if (child !== spawned) return
      child = undefined
      prepareLater()
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
