import { closeSync, readdirSync, readFileSync } from 'node:fs'

const FOLDER = '/proc/self/fdinfo'
const O_CLOEXEC = 0o2000000

const isInherited = (/** @type {number} */ fd) => {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`${FOLDER}/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    return false // it was the one of the folder
  }
}

/**
 * Closes what this process was started with besides its standard streams: all below it would have it, code of tenants
 * included. What Node opens itself is closed at each exec(2). Linux; elsewhere nothing tells one from the other.
 */
export const closeInherited = () => {
  try {
    for (const fd of readdirSync(FOLDER).map(Number)) if (fd > 2 && isInherited(fd)) closeSync(fd)
  } catch {
    // no such folder: another system, or /proc is not there
  }
}
