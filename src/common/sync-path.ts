import { open } from 'node:fs/promises'

/** Syncs a file, or a directory, so that renames in it are on disk. */
export const syncPath = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
