import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { shellQuote } from '../common/shell-quote.ts'

/** The generated first management key: its text for a terminal, otherwise the file that contains it. */
export type GeneratedKey =
  | { readonly text: string }
  | { readonly file: string /** Why the file could not be written. */; readonly issue?: string }

const NAME = 'management.key'

/**
 * Writes the key to a file (0600) of the data directory, unless the output is a terminal: other output is stored in
 * logs. Reports a file that cannot be written, as on a full disk: the service runs, and can create another key.
 */
export const handOver = (text: string, dataDir: string, terminal: boolean): GeneratedKey => {
  if (terminal) return { text }
  const file = join(dataDir, NAME)
  try {
    rmSync(file, { force: true })
    writeFileSync(file, `${text}\n`, { flag: 'wx', mode: 0o600 })
    return { file }
  } catch (error) {
    return { file, issue: codeOf(error) || 'unknown error' }
  }
}

/** The line that is printed about the key. */
export const shownKey = (key: GeneratedKey): string => {
  if ('text' in key) return `${key.text}   (shown only once: store it)`
  return key.issue === undefined
    ? `in ${key.file}   (store it, and delete the file)`
    : `lost: ${key.file} cannot be written (${key.issue}). Create another: sidevault tenants new-key <id>`
}

/** The key as shell text between double quotes. */
export const keyInShell = (key: GeneratedKey): string =>
  'text' in key ? key.text : `$(cat ${shellQuote(key.file)})`
