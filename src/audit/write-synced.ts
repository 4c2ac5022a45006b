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
