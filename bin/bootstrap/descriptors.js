import { closeSync, readdirSync, readFileSync } from 'node:fs'

const FOLDER = '/proc/self/fdinfo'
const O_CLOEXEC = 0o2000000

const isInherited = (/** @type {number} */ fd) => {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`${FOLDER}/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    return false // the descriptor of the folder itself
  }
}

/**
 * Closes inherited descriptors other than the standard streams: child processes would inherit them too, those with
 * tenants' code included. Node sets FD_CLOEXEC on its own. Linux only; other systems cannot distinguish them.
 */
export const closeInherited = () => {
  try {
    for (const fd of readdirSync(FOLDER).map(Number)) if (fd > 2 && isInherited(fd)) closeSync(fd)
  } catch {
    // another system, or /proc is not mounted
  }
}
