import { closeSync, openSync } from 'node:fs'

/** True if this process has a controlling terminal, even when its standard streams are files. */
export const hasTerminal = (): boolean => {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
