import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The first management key where it was generated: in clear for a terminal, else the file that holds it. */
export type GeneratedKey = { readonly text: string } | { readonly file: string }

const NAME = 'management.key'

/** Writes the key to a file (0600) of the data directory unless it may be shown: what is printed elsewhere stays in logs. */
export const handOver = (text: string, dataDir: string, terminal: boolean): GeneratedKey => {
  if (terminal) return { text }
  const file = join(dataDir, NAME)
  rmSync(file, { force: true })
  writeFileSync(file, `${text}\n`, { flag: 'wx', mode: 0o600 })
  return { file }
}

/** What is printed about it. */
export const shownKey = (key: GeneratedKey): string =>
  'text' in key
    ? `${key.text}   (shown this once: keep it)`
    : `in ${key.file}   (keep it, and delete the file)`

/** How a shell writes it between double quotes. */
export const keyInShell = (key: GeneratedKey): string =>
  'text' in key ? key.text : `$(cat '${key.file.replaceAll("'", "'\\''")}')`
