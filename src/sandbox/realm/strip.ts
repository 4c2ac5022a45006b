import { hash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const stripped = (text: string): string => {
  // Node announces the function as experimental; operators should not read that at every start
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}

const HASH_LENGTH = 64

/** So that what a machine that went down has left of it is not taken for the whole. */
const sealed = (made: string): string => hash('sha256', made) + made

/**
 * The JavaScript of a TypeScript text: types become blanks, so that lines and columns stay. Needs WebAssembly, hence a
 * process that was not started with `--jitless`. For the sandbox's sources that takes a third of a second, so what was
 * made before is read from `directory`; default: where Node keeps what it has compiled, which is code as much as this is
 * and of one version of Node.
 */
export const strip = (text: string, directory = getCompileCacheDir()): string => {
  if (directory === undefined) return stripped(text)
  const file = join(directory, `${hash('sha256', text)}.stripped.js`)
  try {
    const retained = readFileSync(file, 'utf8')
    const made = retained.slice(HASH_LENGTH)
    if (retained === sealed(made)) return made
  } catch {
    // nobody has made it
  }
  const made = stripped(text)
  try {
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, sealed(made), { mode: 0o600 })
    renameSync(draft, file)
  } catch {
    // the next one makes it again
  }
  return made
}
