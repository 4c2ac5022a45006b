import { stripTypeScriptTypes } from 'node:module'

/** A comment for readers of the source, on lines of its own. */
const DOC_COMMENT = /^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/$/gm

/**
 * TypeScript as JavaScript: types become spaces, so that lines and columns stay. Those at the end of a line are
 * dropped, and so is the text of documentation comments.
 */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
      .replace(/[ \t]+$/gm, '')
      .replace(DOC_COMMENT, (comment) => comment.replace(/[^\n]+/g, ''))
  } finally {
    process.emitWarning = emitWarning
  }
}
