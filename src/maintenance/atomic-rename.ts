import { link } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, codeOf } from '../common/errors.ts'
import { syncPath } from '../common/sync-path.ts'

/** Error of a partial file that cannot be created or written: `invalid` with a fix, if the system rejected it. */
export const partialIssue = (partial: string, thrown: unknown): unknown => {
  const code = codeOf(thrown)
  if (code === 'EEXIST')
    return new AppError(
      'invalid',
      `"${partial}" exists: another run is in progress, or one was killed. If none is running, delete the file and retry.`,
      { cause: thrown },
    )
  return /^(E[A-Z]+|SQLITE_(FULL|IOERR|CANTOPEN)\w*)$/.test(code)
    ? new AppError(
        'invalid',
        `"${partial}" cannot be written (${code}). Check its directory and the free space, then retry.`,
        { cause: thrown },
      )
    : thrown
}

/**
 * Links a complete, synced file under its final name; on disk when resolved. `partial` stays as a second name. Never
 * replaces a file: `invalid` when the name exists.
 */
export const publish = async (partial: string, path: string): Promise<void> => {
  try {
    await link(partial, path)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    const sentence =
      code === 'EEXIST'
        ? `"${path}" already exists. Choose another name.`
        : `"${path}" cannot be created (${code}). Check its directory, which must support hard links.`
    throw new AppError('invalid', sentence, { cause: thrown })
  }
  await syncPath(dirname(path))
}
