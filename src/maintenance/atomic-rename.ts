import { link, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, codeOf } from '../common/errors.ts'

/** Puts a file, or what a directory lists, on disk. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Why a file could not be begun under a name of its own: a sentence where it is there already. */
export const partialIssue = (partial: string, thrown: unknown): unknown =>
  codeOf(thrown) === 'EEXIST'
    ? new AppError(
        'invalid',
        `"${partial}" is left of a run that was cut short, or another one is at work. When none is, delete it, then repeat this.`,
        { cause: thrown },
      )
    : thrown

/**
 * Gives a whole, synced file its name, on disk when resolved; `partial` stays as another name of it. Nothing is ever
 * replaced: `invalid` when the name is taken.
 */
export const publish = async (partial: string, path: string): Promise<void> => {
  try {
    await link(partial, path)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    const sentence =
      code === 'EEXIST'
        ? `"${path}" is there already. Choose another name.`
        : `"${path}" could not be made (${code}). Check its directory; hard links are needed there.`
    throw new AppError('invalid', sentence, { cause: thrown })
  }
  await syncPath(dirname(path))
}
