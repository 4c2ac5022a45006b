/** Edits and places of code, as plain functions of its text. */

/** Replaces `from` to `to` by `insert`, then selects `start` to `end`. Offsets in UTF-16 units. */
export interface Edit {
  readonly from: number
  readonly to: number
  readonly insert: string
  readonly start: number
  readonly end: number
}

interface Position {
  /** Number of the line, from 1. */
  readonly line: number
  /** UTF-16 units, from 1. */
  readonly column: number
}

/** A problem of code, at the place where the API found it. */
export interface Diagnostic extends Position {
  readonly message: string
}

export const positionAt = (text: string, offset: number): Position => {
  const lines = text.slice(0, offset).split('\n')
  return { line: lines.length, column: lines.at(-1)!.length + 1 }
}

/** The offset of a place; the end of its line, or of the text, where it lies beyond. */
export const offsetAt = (text: string, { line, column }: Position): number => {
  const lines = text.split('\n')
  const before = lines.splice(0, Math.max(0, line - 1))
  const [own] = lines
  if (own === undefined) return text.length
  const start = before.reduce((sum, { length }) => sum + length + 1, 0)
  return start + Math.min(Math.max(0, column - 1), own.length)
}

export const lineCount = (text: string): number => text.split('\n').length

/** A level of indentation: a tab where the text indents with tabs, else two blanks. */
const indentUnit = (text: string): string => (/^\t/m.test(text) ? '\t' : '  ')

const lineStart = (text: string, offset: number) => text.lastIndexOf('\n', offset - 1) + 1

/** The lines that a selection touches. A selection that ends at the start of a line does not touch that line. */
const selectedLines = (text: string, start: number, end: number) => {
  const from = lineStart(text, start)
  const last = end > start && text[end - 1] === '\n' ? end - 1 : end
  const next = text.indexOf('\n', last)
  const to = next === -1 ? text.length : next
  return { from, to, lines: text.slice(from, to).split('\n') }
}

/** Tab: one level at the caret, or before each line of a selection of several. */
export const indent = (text: string, start: number, end: number): Edit => {
  const unit = indentUnit(text)
  if (!text.slice(start, end).includes('\n'))
    return { from: start, to: end, insert: unit, start: start + unit.length, end: start + unit.length }
  const { from, to, lines } = selectedLines(text, start, end)
  const insert = lines.map((line) => (line === '' ? line : unit + line)).join('\n')
  return { from, to, insert, start: from, end: from + insert.length }
}

/** Shift+Tab: one level less for each line of the selection; undefined where there is none. */
export const outdent = (text: string, start: number, end: number): Edit | undefined => {
  const { from, to, lines } = selectedLines(text, start, end)
  const shorter = lines.map((line) => line.replace(/^(\t| {1,2})/, ''))
  const insert = shorter.join('\n')
  if (insert.length === to - from) return undefined
  if (lines.length > 1) return { from, to, insert, start: from, end: from + insert.length }
  const less = to - from - insert.length
  return { from, to, insert, start: Math.max(from, start - less), end: Math.max(from, end - less) }
}

/** Enter: a line with the indentation of the current one, and one level more behind an opening bracket. */
export const newLine = (text: string, start: number, end: number): Edit => {
  const line = text.slice(lineStart(text, start), start)
  const deeper = /[([{]\s*$/.test(line) ? indentUnit(text) : ''
  const insert = `\n${/^[\t ]*/.exec(line)![0]}${deeper}`
  const at = start + insert.length
  return { from: start, to: end, insert, start: at, end: at }
}
