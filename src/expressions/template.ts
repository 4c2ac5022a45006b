import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import { type Chain, operandValue } from './chain.ts'
import { badExpression, badFilter } from './errors.ts'
import { LIMITS } from './limits.ts'
import { type ExpressionPiece, scanText } from './scan.ts'
import { operandOf } from './syntax.ts'
import type { Opacity, Resolve, Template } from './types.ts'
import { inText, resultOf } from './values.ts'
import type { VariablePath, Variables } from './variables.ts'
import { storedWork, type Work } from './work.ts'

/** The grammar of expressions at one kind of place. */
interface TemplateGrammar {
  /** Compiles the filters of an expression: `| filter: …`. */
  readonly chainOf: (filters: string) => Chain
  /** The variable at the head of an expression, if there are variables. */
  readonly variableOf?: (head: string) => VariablePath | undefined
}

type Head =
  | { readonly kind: 'token'; readonly id: string; readonly isToken: boolean }
  | { readonly kind: 'constant'; readonly value: string | number }
  | { readonly kind: 'variable'; readonly path: VariablePath }

interface Compiled {
  /** As it was written, braces included. */
  readonly source: string
  readonly head: Head
  readonly chain: Chain | undefined
}

/** Characters that an id must not contain (completions §5). */
const NOT_IN_IDS = /[#/\\+?[\]|&=%<>{}^]/
/** UTF-16 units: two for some of the 400 characters. */
const MAX_ID_LENGTH = 800

const NUMBER = /^-?\d+(\.\d+)?$/
/** Aliases of card and account numbers are ids of digits only: this many digits or more are an id. */
const SHORTEST_DIGIT_ID = 9

const NO_VARIABLES = {}

const unquote = (text: string): string => text.slice(1, -1).replace(/\\(['"\\])/g, '$1')

const isQuoted = (head: string): boolean => {
  const quote = head[0]
  return (quote === "'" || quote === '"') && head.length > 1 && head.endsWith(quote)
}

/** The id that an expression starts with, after `token:`; undefined when it is no id. */
export const tokenIdOf = (head: string): string | undefined => {
  const prefix = /^token\s*:/.exec(head)
  const id = prefix === null ? head : head.slice(prefix[0].length).trim()
  return id === '' || id.length > MAX_ID_LENGTH || NOT_IN_IDS.test(id) || id.includes('\0') ? undefined : id
}

const headOf = (head: string, { variableOf }: TemplateGrammar): Head => {
  if (isQuoted(head)) return { kind: 'constant', value: unquote(head) }
  if (NUMBER.test(head) && !(/^\d+$/.test(head) && head.length >= SHORTEST_DIGIT_ID))
    return { kind: 'constant', value: Number(head) }
  const path = variableOf?.(head)
  if (path !== undefined) return { kind: 'variable', path }
  const id = tokenIdOf(head)
  if (id === undefined)
    throw badExpression('An expression does not start with a valid token id. Write "{{ <token id> }}".')
  return { kind: 'token', id, isToken: id !== head }
}

const compile = (source: string, piece: ExpressionPiece, grammar: TemplateGrammar): Compiled => ({
  source,
  head: headOf(piece.head, grammar),
  chain: piece.chain === '' ? undefined : grammar.chainOf(piece.chain),
})

const evaluateOne = (
  { source, head, chain }: Compiled,
  resolve: Resolve,
  work: Work,
  variables: object = NO_VARIABLES,
): Json => {
  work.use(LIMITS.call)
  let value: unknown
  let token: ReturnType<Resolve>
  // Variables hold values of the request, and secrets of the proxy.
  let opacity: Opacity | undefined = head.kind === 'variable' || chain?.hasVariables ? 'text' : undefined
  if (head.kind === 'constant') value = head.value
  else if (head.kind === 'variable') value = operandValue(operandOf(head.path), variables, work)
  else {
    token = resolve(head.id)
    if (token === undefined) throw badExpression(`Token "${head.id}" does not exist.`)
    value = head.isToken ? token.token : token.data
    opacity ??= token.opacity
  }
  const revealing = opacity && chain?.revealing[opacity]
  if (revealing !== undefined)
    throw badFilter(
      revealing,
      'works on a part of a value or tests it. Here it may be sent, and nothing of it shown. Use filters that take the complete value.',
    )
  const result = resultOf(chain === undefined ? value : chain.run(value, variables, work))
  token?.onResult?.(source, result)
  return result
}

/**
 * Parses a text of a detokenization by the head rule of completions §6. Parsing charges `reading`, evaluation the work
 * that is passed to it; each is limited like a single expression. Throws `invalid_expression`.
 */
export const parseTemplate = (text: string, grammar: TemplateGrammar, reading: Work): Template => {
  const parts: (string | Compiled)[] = []
  const ids = new Set<string>()
  // Charged before parsing: a text with too many expressions is not parsed at all.
  for (let at = text.indexOf('{{'); at !== -1; at = text.indexOf('{{', at + 2)) reading.use(LIMITS.call)
  for (const piece of scanText(text)) {
    if (piece.kind === 'literal') {
      parts.push(text.slice(piece.start, piece.end))
      continue
    }
    reading.use(LIMITS.call + piece.head.length * LIMITS.syntax)
    const expression = compile(text.slice(piece.start, piece.end), piece, grammar)
    if (expression.head.kind === 'token') ids.add(expression.head.id)
    parts.push(expression)
  }
  const [first] = parts
  const only = parts.length === 1 && typeof first === 'object' ? first : undefined

  const render = (resolve: Resolve, total?: Work, variables?: Variables): string => {
    const work = storedWork(total)
    let result = ''
    for (const part of parts) {
      result += typeof part === 'string' ? part : inText(evaluateOne(part, resolve, work, variables), work)
      if (result.length > LIMITS.result)
        throw new AppError('too_large', 'The values of the tokens make the text too large. Use fewer tokens.')
    }
    return result
  }

  return {
    ids: [...ids],
    single: only !== undefined,
    evaluate: (resolve, total) =>
      only === undefined ? render(resolve, total) : evaluateOne(only, resolve, storedWork(total)),
    render,
  }
}
