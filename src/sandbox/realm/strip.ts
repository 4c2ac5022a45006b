import { hash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const stripped = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}

const HASH_LENGTH = 64

/** Prefixes a checksum, which detects files that a crash truncated. */
const withChecksum = (javascript: string): string => hash('sha256', javascript) + javascript

/**
 * Converts TypeScript to JavaScript: types become spaces, so that lines and columns stay. Needs WebAssembly, so it does
 * not work with `--jitless`. Stripping the sandbox's sources takes a third of a second, so results are cached in
 * `directory` (default: Node's compile cache, which is specific to the version of Node).
 */
export const strip = (text: string, directory = getCompileCacheDir()): string => {
  if (directory === undefined) return stripped(text)
  const file = join(directory, `${hash('sha256', text)}.stripped.js`)
  try {
    const retained = readFileSync(file, 'utf8')
    const javascript = retained.slice(HASH_LENGTH)
    if (retained === withChecksum(javascript)) return javascript
  } catch {
    // not cached
  }
  const javascript = stripped(text)
  try {
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, withChecksum(javascript), { mode: 0o600 })
    renameSync(draft, file)
  } catch {
    // the cache is optional
  }
  return javascript
}
