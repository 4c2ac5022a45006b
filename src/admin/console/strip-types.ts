import { stripTypeScriptTypes } from 'node:module'

/** A comment for readers of the source, on lines of its own. */
const DOC_COMMENT = /^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/$/gm

/** `stripped` without the blanks that stand for types of `text`, and with one in place of those around them. */
const withoutBlanks = (stripped: string, text: string): string => {
  if (stripped.length !== text.length) return stripped
  let result = ''
  let isNextToType = false
  for (let at = 0; at < stripped.length; at++) {
    const character = stripped[at]!
    if (character !== ' ') isNextToType = false
    else if (text[at] !== ' ') isNextToType = true
    if (isNextToType && (text[at] !== ' ' || result.endsWith(' '))) continue
    result += character
  }
  return result
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
