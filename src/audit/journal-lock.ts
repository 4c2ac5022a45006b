import { join } from 'node:path'
import { AppError } from '../common/errors.ts'
import { lockFile } from '../common/file-lock.ts'

/** Error of a second writer. Commands write one journal, one command at a time. */
export const alreadyWritten = (name: string, sentences: string): AppError =>
  new AppError(
    'gateway_timeout',
    /^operator(-|$)/.test(name)
      ? 'Another sidevault command is running on this vault. Retry when it has ended.'
      : sentences,
  )

/** Makes this process the only writer of a journal until the returned function is called or the process exits. */
export const lockJournal = (directory: string, name: string): (() => void) => {
  const unlock = lockFile(join(directory, `${name}.lock`))
  if (unlock === undefined)
    throw alreadyWritten(
      name,
      `Another live process writes the audit journal "${name}". Stop it, or use another name or data directory.`,
    )
  return unlock
}
