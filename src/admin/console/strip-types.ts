import { stripTypeScriptTypes } from 'node:module'

/** TypeScript as JavaScript: types become spaces, so that lines and columns stay. Those at the end of a line are dropped. */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text).replace(/[ \t]+$/gm, '')
  } finally {
    process.emitWarning = emitWarning
  }
}
