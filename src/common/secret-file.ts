import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, codeOf } from './errors.ts'
import { shellQuote } from './shell-quote.ts'
import { syncPath } from './sync-path.ts'

/** Largest size of a key file in bytes, a limit for paths such as /dev/zero. */
const MAX_BYTES = 4096

const failure = (what: string, path: string, thrown: unknown): AppError =>
  new AppError(
    'invalid',
    `${what} "${path}" (${codeOf(thrown)}). Check that the path and its permissions are right.`,
    {
      cause: thrown,
    },
  )

/**
 * True if only its owner may read the file, or if another user (root, for secrets that Kubernetes mounts with
 * `fsGroup`) owns it and one of the process's groups may read it.
 */
const isPrivate = ({ mode, uid, gid }: Stats): boolean => {
  if (process.getuid === undefined || (mode & 0o077) === 0) return true
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])]
  return (mode & 0o037) === 0 && uid !== process.getuid() && groups.includes(gid)
}

/**
 * The text of a private file. Undefined if there is none. Rejects with `invalid` (AppError) if other users may read or
 * write it, or if it is not a small regular file. Errors do not contain the text.
 */
export const readSecretFile = async (path: string, maxBytes = MAX_BYTES): Promise<string | undefined> => {
  try {
    const file = await open(path, 'r')
    try {
      const stats = await file.stat()
      const { mode, size } = stats
      if ((mode & 0o170000) !== 0o100000 || size > maxBytes)
        throw new AppError(
          'invalid',
          `"${path}" is not a key file: it must be a regular file of at most ${maxBytes} bytes.`,
        )
      if (!isPrivate(stats))
        throw new AppError(
          'invalid',
          `The key file "${path}" is open to other users (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 ${shellQuote(path)} (a mounted secret: mode 0400, or 0440 with another owner and a group of this process).`,
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

/**
 * Creates a file (0600) with this text if there is none. Resolves with the text of the file once it is on disk. The
 * file is created atomically (a synced temporary file is linked to the name): if several processes start at once, one
 * wins and none reads a partial key.
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
    await syncPath(dirname(path))
    return text
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw failure('Could not create the key file', path, thrown)
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
 * Renames `next` to `path` and keeps the old file as `retained`. `path` always exists and is complete; the change is on
 * disk when this resolves. May be repeated after a crash.
 */
export const replaceSecretFile = async (path: string, next: string, retained: string): Promise<void> => {
  try {
    await link(path, retained).catch((thrown: unknown) => {
      if (codeOf(thrown) !== 'EEXIST') throw thrown
    })
    await rename(next, path)
    await syncPath(dirname(path))
  } catch (thrown) {
    throw failure('Could not replace the key file', path, thrown)
  }
}
