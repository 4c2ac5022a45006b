import { join } from 'node:path'
import { AppError } from '../common/errors.ts'
import { lockFile } from '../common/file-lock.ts'

/** Makes this process the only writer of a journal until the returned function is called or the process exits. */
export const lockJournal = (directory: string, name: string): (() => void) => {
  const unlock = lockFile(join(directory, `${name}.lock`))
  if (unlock === undefined)
    throw new AppError(
      'gateway_timeout',
      `Another live process writes the audit journal "${name}". Stop it, or use another name or data directory.`,
    )
  return unlock
}
