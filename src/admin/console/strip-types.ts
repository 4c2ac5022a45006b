import { stripTypeScriptTypes } from 'node:module'

/** TypeScript as JavaScript: types become spaces, so that lines and columns stay. */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}
