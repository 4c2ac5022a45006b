import { stripTypeScriptTypes } from 'node:module'

/** A comment with nothing below it: what it describes was a type. */
const ORPHAN = /^\/\*\*(?:[^*]|\*(?!\/))*\*\/$(?=\n\n)/gm

/**
 * TypeScript as JavaScript: types become spaces, so that lines and columns stay. Those at the end of a line are
 * dropped, and so are comments of types.
 */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
      .replace(/[ \t]+$/gm, '')
      .replace(ORPHAN, (comment) => comment.replace(/[^\n]+/g, ''))
  } finally {
    process.emitWarning = emitWarning
  }
}
