import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, codeOf } from '../common/errors.ts'

/** Larger files are no key: a bound for paths such as /dev/zero. */
const LARGEST = 4096

const failure = (what: string, path: string, thrown: unknown): AppError =>
  new AppError(
    'invalid',
    `${what} "${path}" (${codeOf(thrown)}). Check that the path and its permissions are right.`,
    {
      cause: thrown,
    },
  )

/**
 * Only its owner may read it; or its owner is another (root, of a secret that Kubernetes mounts with `fsGroup`) and it is
 * given to us by one of our groups, to read.
 */
const isPrivate = ({ mode, uid, gid }: Stats): boolean => {
  if (process.getuid === undefined || (mode & 0o077) === 0) return true
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])]
  return (mode & 0o037) === 0 && uid !== process.getuid() && groups.includes(gid)
}

/**
 * The text of a file that is private, or undefined when there is none. `invalid` (AppError) when others may read or
 * write it, or it is no small regular file. The text is never part of an error.
 */
export const readSecretFile = async (path: string): Promise<string | undefined> => {
  try {
    const file = await open(path, 'r')
    try {
      const stats = await file.stat()
      const { mode, size } = stats
      if ((mode & 0o170000) !== 0o100000 || size > LARGEST)
        throw new AppError(
          'invalid',
          `"${path}" is not a key file: it must be a regular file of at most ${LARGEST} bytes.`,
        )
      if (!isPrivate(stats))
        throw new AppError(
          'invalid',
          `The key file "${path}" is open to other users (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 '${path}' (a mounted secret: mode 0400, or 0440 with another owner and a group of ours).`,
        )
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw failure('Could not read the key file', path, thrown)
  }
}

const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Makes a file (0600) with this text unless there is one, and answers the text that the file then holds. On disk when
 * resolved. The file appears whole (a synced twin is linked to the name), so that of several starters at once one
 * wins, and none reads a half-written key.
 */
export const createSecretFile = async (path: string, text: string): Promise<string> => {
  const twin = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      const file = await open(twin, 'wx', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await link(twin, path)
    } finally {
      await rm(twin, { force: true })
    }
    await syncDirectory(dirname(path))
    return text
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw failure('Could not make the key file', path, thrown)
  }
  const winner = await readSecretFile(path)
  if (winner === undefined)
    throw new AppError(
      'invalid',
      `The key file "${path}" was removed while the service started. Start again.`,
    )
  return winner
}

/**
 * Gives `path` the content of `next`, which goes, and keeps what it held under `kept`. At every moment `path` is there
 * and whole; on disk when resolved. Repeating it after a crash is harmless.
 */
export const replaceSecretFile = async (path: string, next: string, retained: string): Promise<void> => {
  try {
    await link(path, retained).catch((thrown: unknown) => {
      if (codeOf(thrown) !== 'EEXIST') throw thrown
    })
    await rename(next, path)
    await syncDirectory(dirname(path))
  } catch (thrown) {
    throw failure('Could not replace the key file', path, thrown)
  }
}
