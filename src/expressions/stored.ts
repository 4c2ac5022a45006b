import type { Json } from '../common/json.ts'
import { compileFilters, type Filters, operandValue } from './chain.ts'
import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'
import { parseOutput } from './syntax.ts'
import type { StoredExpression } from './types.ts'
import { inText, resultOf } from './values.ts'
import { storedWork, type Work } from './work.ts'

type Variables = Readonly<Record<string, Json>>
type Output = (variables: Variables, work: Work) => Json

const OPEN = '{{'
/** An output with its quoted strings, in which braces do not count. */
const OUTPUT = /\{\{(-?)((?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"])*?)(-?)\}\}/sy

const outputOf = (content: string, filters: Filters): Output => {
  if (content.trim() === '')
    throw badExpression('An expression is empty. Name a variable between "{{" and "}}".')
  const { head, filters: calls } = parseOutput(content)
  const chain = compileFilters(calls, filters)
  return (variables, work) => {
    work.use(LIMITS.call)
    return resultOf(chain.run(operandValue(head, variables, work), variables, work))
  }
}

/** Literal texts and outputs in order, without white space before a `{{-` and after a `-}}`. */
const partsOf = (text: string, filters: Filters): readonly (string | Output)[] => {
  const parts: (string | Output)[] = []
  let from = 0
  let isTrimmed = false
  const literal = (end: number, trimsEnd: boolean) => {
    let piece = text.slice(from, end)
    if (isTrimmed) piece = piece.trimStart()
    if (trimsEnd) piece = piece.trimEnd()
    if (piece !== '') parts.push(piece)
  }
  for (let open = text.indexOf(OPEN); open !== -1; open = text.indexOf(OPEN, from)) {
    OUTPUT.lastIndex = open
    const output = OUTPUT.exec(text)
    if (output === null)
      throw badExpression('An expression starts with "{{" but has no "}}". Check its quotes too.')
    const [all, before, content = '', after] = output
    literal(open, before === '-')
    parts.push(outputOf(content, filters))
    from = open + all.length
    isTrimmed = after === '-'
  }
  literal(text.length, false)
  return parts
}

/**
 * Parses a stored expression: text with outputs; tags are text. The result of a text with only one output has the type
 * of its value. Throws `invalid_expression`.
 */
export const parseStoredText = (text: string, filters: Filters): StoredExpression => {
  if (text.length > LIMITS.stored)
    throw badExpression(`An expression may have at most ${LIMITS.stored} characters.`)
  const parts = partsOf(text, filters)
  const [only] = parts
  if (parts.length === 1 && typeof only === 'function') {
    const evaluate = (variables: Variables, work = storedWork()) => only(variables, work)
    return { evaluate, render: (variables, work = storedWork()) => inText(evaluate(variables, work), work) }
  }
  const render = (variables: Variables, work = storedWork()): string => {
    let result = ''
    for (const part of parts) result += typeof part === 'string' ? part : inText(part(variables, work), work)
    return result
  }
  return { evaluate: render, render }
}
