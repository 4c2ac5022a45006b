import { stripTypeScriptTypes } from 'node:module'

/**
 * The JavaScript of a TypeScript text: types become blanks, so that lines and columns stay. Needs WebAssembly, hence a
 * process that was not started with `--jitless`.
 */
export const strip = (text: string): string => {
  // Node announces the function as experimental; operators should not read that at every start
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}
