import { readFileSync } from 'node:fs'

const PAGE = 4096

/** Bytes of memory that a process holds (proc(5), statm); undefined where that cannot be read. */
export const rssOf = (pid: number): number | undefined => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE
  } catch {
    return undefined
  }
}
