import { stripTypeScriptTypes } from 'node:module'

/** A comment on lines of its own. A line of a template literal must not begin like one. */
const COMMENT = /^[ \t]*(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*)$/gm

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

/** TypeScript as JavaScript, without types and without the text of comments. Lines stay where they are. */
export const stripTypes = (text: string): string => {
  // suppresses Node's warning that the function is experimental
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return withoutBlanks(stripTypeScriptTypes(text), text)
      .replace(/[ \t]+$/gm, '')
      .replace(COMMENT, (comment) => comment.replace(/[^\n]+/g, ''))
  } finally {
    process.emitWarning = emitWarning
  }
}
