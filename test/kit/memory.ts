import { readFileSync } from 'node:fs'

/**
 * Resident bytes of a process that are its own, of Linux's `/proc/<pid>/status`. Not those of files, such as a database
 * that is read in place: they are the system's, which takes them back when it needs them.
 */
const ownBytes = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) * 1024
}

interface MemoryWatch {
  readonly idle: number
  /** Since the watch began, looked at every 100 ms. */
  readonly highest: () => number
  end(): void
}

export const watchMemory = (pid: number): MemoryWatch => {
  const idle = ownBytes(pid)
  let highest = idle
  const look = () => {
    highest = Math.max(highest, ownBytes(pid))
  }
  const timer = setInterval(look, 100)
  return { idle, highest: () => highest, end: () => clearInterval(timer) }
}
