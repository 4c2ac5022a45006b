import { compileFunction } from 'node:vm'
import type { CodeFault } from '../sdk/index.ts'

const FILE = 'code'
const MAX_MESSAGE = 200

/** `code:3`, the line itself, and a caret below the place: what Node puts above a syntax error's stack. */
const placeOf = (stack: string): { line: number; column: number } => {
  const lines = stack.split('\n')
  const line = Number(/^code:(\d+)$/.exec(lines[0] ?? '')?.[1] ?? 1)
  const caret = lines.slice(1, 4).find((text) => /^\s*\^+\s*$/.test(text))
  return { line, column: caret === undefined ? 1 : caret.indexOf('^') + 1 }
}

/** Whether code parses, as the body of a CommonJS module. It is compiled and never run. */
export const checkCode = (code: string): readonly CodeFault[] => {
  try {
    compileFunction(code, ['module', 'exports', 'require'], { filename: FILE })
    return []
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError))
      return [{ line: 1, column: 1, message: 'It is too deeply nested to be parsed.' }]
    return [{ ...placeOf(thrown.stack ?? ''), message: thrown.message.slice(0, MAX_MESSAGE) }]
  }
}
