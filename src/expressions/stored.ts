import type { Json } from '../common/json.ts'
import type { Engine } from './engine.ts'
import { badExpression } from './faults.ts'
import { LIMITS } from './limits.ts'
import type { StoredExpression } from './types.ts'
import { toJson, toText } from './values.ts'
import { storedWork } from './work.ts'

type Variables = Readonly<Record<string, Json>>

/**
 * Parses an expression that is stored with a token: any Liquid. A text that is nothing but one output keeps its
 * value's type. Throws `bad_expression`.
 */
export const parseStoredText = (text: string, engine: Engine): StoredExpression => {
  if (text.length > LIMITS.stored)
    throw badExpression(`An expression may have at most ${LIMITS.stored} characters.`)
  if (!text.includes('{{') && !text.includes('{%')) return { evaluate: () => text, render: () => text }
  const output = engine.onlyOutput(text)
  if (output === undefined) {
    const page = engine.page(text)
    const render = (variables: Variables, work = storedWork()) => page(variables, work)
    return { evaluate: render, render }
  }
  if (output === '') throw badExpression('An expression is empty. Name a variable between "{{" and "}}".')
  const chain = engine.chain(output, true)
  const evaluate = (variables: Variables, work = storedWork()) => toJson(chain(variables, work))
  return { evaluate, render: (variables, work) => toText(evaluate(variables, work)) }
}
