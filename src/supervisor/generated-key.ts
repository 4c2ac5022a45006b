import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The generated first management key: its text for a terminal, otherwise the file that contains it. */
export type GeneratedKey = { readonly text: string } | { readonly file: string }

const NAME = 'management.key'

/**
 * Writes the key to a file (0600) of the data directory, unless the output is a terminal: other output is stored in
 * logs.
 */
export const handOver = (text: string, dataDir: string, terminal: boolean): GeneratedKey => {
  if (terminal) return { text }
  const file = join(dataDir, NAME)
  rmSync(file, { force: true })
  writeFileSync(file, `${text}\n`, { flag: 'wx', mode: 0o600 })
  return { file }
}

/** The line that is printed about the key. */
export const shownKey = (key: GeneratedKey): string =>
  'text' in key
    ? `${key.text}   (shown only once: store it)`
    : `in ${key.file}   (store it, and delete the file)`

/** The key as shell text between double quotes. */
export const keyInShell = (key: GeneratedKey): string =>
  'text' in key ? key.text : `$(cat '${key.file.replaceAll("'", "'\\''")}')`
