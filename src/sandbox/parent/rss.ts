import { readFileSync } from 'node:fs'

const PAGE = 4096

/** Resident memory of a process in bytes (proc(5), statm); undefined when unreadable. */
export const rssOf = (pid: number): number | undefined => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE
  } catch {
    return undefined
  }
}
