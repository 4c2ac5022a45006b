import { open } from 'node:fs/promises'

/** Writes a file with this content, mode 0600; on disk when this resolves. */
export const writeSynced = async (path: string, content: Buffer): Promise<void> => {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs a directory, so that renames in it are on disk. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
