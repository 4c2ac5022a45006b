import { open } from 'node:fs/promises'

/** A file of this content only, mode 0600, on disk. */
export const writeSynced = async (path: string, content: Buffer): Promise<void> => {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** What was renamed in a directory is so on disk. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
