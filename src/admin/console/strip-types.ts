import { stripTypeScriptTypes } from 'node:module'

/** A comment for readers of the source, on lines of its own. */
const DOC_COMMENT = /^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/$/gm

/** `stripped` without the blanks that stand for types of `text`. */
const withoutBlanks = (stripped: string, text: string): string => {
  if (stripped.length !== text.length) return stripped
  let result = ''
  let from = 0
  for (let at = 0; at < stripped.length; at++)
    if (stripped[at] === ' ' && text[at] !== ' ') {
      result += stripped.slice(from, at)
      from = at + 1
    }
  return result + stripped.slice(from)
}

/** TypeScript as JavaScript, without types and the text of documentation comments. Lines stay where they are. */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return withoutBlanks(stripTypeScriptTypes(text), text)
      .replace(/[ \t]+$/gm, '')
      .replace(DOC_COMMENT, (comment) => comment.replace(/[^\n]+/g, ''))
  } finally {
    process.emitWarning = emitWarning
  }
}
