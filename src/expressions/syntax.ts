/** Grammar of one output: `value | filter: argument, … | …`. Liquid without operators, ranges and tags. */
import { LRUCache } from 'lru-cache'
import { badExpression, badFilter } from './errors.ts'
import { LIMITS } from './limits.ts'
import { type VariablePath, variableOf } from './variables.ts'

export type Operand =
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  | { readonly kind: 'path'; readonly parts: readonly (string | number)[] }

export const operandOf = (path: VariablePath): Operand => ({ kind: 'path', parts: path })

export interface FilterCall {
  readonly name: string
  readonly args: readonly Operand[]
  readonly named: ReadonlyMap<string, Operand>
}

const BLANKS = /\s*/y
const STRING = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/sy
const NUMBER = /[+-]?\d+(?:\.\d+)?(?![\w\u0080-\uffff?-])/y
const WORD = /[\w\u0080-\uffff?-]+/y
const INDEX = /-?\d{1,9}/y

const CONSTANTS: ReadonlyMap<string, string | boolean | null> = new Map<string, string | boolean | null>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
  ['empty', ''],
  ['blank', ''],
])

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Text of a quoted string, with the escapes of Liquid engines. */
const unquoted = (quoted: string): string =>
  quoted
    .slice(1, -1)
    .replace(/\\(?:u([0-9A-Fa-f]{4})|(.))/gs, (_match, hex?: string, character = '') =>
      hex === undefined ? (ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
    )

const unreadable = () =>
  badExpression(
    'An expression has a syntax error. Check its quotes, commas and "|"; operators are not supported.',
  )

/** Parser of one text. */
const createReader = (text: string) => {
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const matched = pattern.exec(text)?.[0]
    if (matched !== undefined) at += matched.length
    return matched
  }
  const skip = () => void take(BLANKS)
  const takes = (character: string): boolean => {
    skip()
    if (text[at] !== character) return false
    at++
    return true
  }

  const bracket = (): string | number => {
    skip()
    const quoted = take(STRING)
    const part = quoted === undefined ? Number(take(INDEX) ?? Number.NaN) : unquoted(quoted)
    if (Number.isNaN(part) || !takes(']')) throw unreadable()
    return part
  }

  const path = (first: string): Operand => {
    const parts: (string | number)[] = [first]
    for (;;) {
      if (text[at] === '.') {
        at++
        const name = take(WORD)
        if (name === undefined) throw unreadable()
        parts.push(name)
      } else if (text[at] === '[') {
        at++
        parts.push(bracket())
      } else break
      if (parts.length > LIMITS.path) throw badExpression(`A path may have at most ${LIMITS.path} members.`)
    }
    return { kind: 'path', parts }
  }

  /** Undefined when no operand starts here. */
  const operand = (): Operand | undefined => {
    skip()
    const quoted = take(STRING)
    if (quoted !== undefined) return { kind: 'literal', value: unquoted(quoted) }
    const number = take(NUMBER)
    if (number !== undefined) return { kind: 'literal', value: Number(number) }
    const word = take(WORD)
    if (word === undefined) return undefined
    const constant = CONSTANTS.get(word)
    return constant === undefined ? path(word) : { kind: 'literal', value: constant }
  }

  const filter = (): FilterCall => {
    skip()
    const name = take(WORD)
    if (name === undefined) throw badExpression('An expression has a "|" without a filter name after it.')
    const args: Operand[] = []
    const named = new Map<string, Operand>()
    if (takes(':'))
      do {
        const argument = operand()
        if (argument === undefined) {
          skip()
          if (args.length > 0 || (at < text.length && text[at] !== '|')) throw unreadable()
        } else if (argument.kind === 'path' && argument.parts.length === 1 && takes(':')) {
          const value = operand()
          if (value === undefined) throw unreadable()
          named.set(String(argument.parts[0]), value)
        } else args.push(argument)
      } while (takes(','))
    return { name, args, named }
  }

  return {
    operand,
    filter,
    takes,
    skip,
    isAtEnd: () => at >= text.length,
    isWord: () => /^\s*[A-Za-z_]/.test(text.slice(at, at + 40)),
  }
}

type Reader = ReturnType<typeof createReader>

/**
 * Parses filters to the end. `lenient`: a comma in place of a `|` counts as one. The author of
 * `{{ data.number, reveal_last: 4 }}` meant a mask, and Liquid would show the number.
 */
const filtersOf = (reader: Reader, lenient: boolean): readonly FilterCall[] => {
  const filters: FilterCall[] = []
  for (;;) {
    if (!reader.takes('|')) {
      if (!lenient || !reader.takes(',')) break
      if (!reader.isWord()) throw unreadable()
    }
    filters.push(reader.filter())
    if (filters.length > LIMITS.filters)
      throw badExpression(`An expression may have at most ${LIMITS.filters} filters.`)
  }
  reader.skip()
  if (!reader.isAtEnd()) throw unreadable()
  return filters
}

/** Parsed filters of requests, which name no token and no value. Their work is charged as if they were parsed. */
const parsed = new LRUCache<string, readonly FilterCall[]>({ max: LIMITS.cache })
const SHORT = 100

/** `| filter: literal, … | …`. Throws `invalid_expression`. */
export const parseFilters = (text: string): readonly FilterCall[] => {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const filters = filtersOf(createReader(text), false)
  for (const { name, args, named } of filters)
    for (const { kind } of [...args, ...named.values()])
      if (kind === 'path') throw badFilter(name, 'needs numbers or texts in quotes as arguments.')
  if (text.length <= SHORT) parsed.set(text, filters)
  return filters
}

/** Parses filters whose arguments may be variables; `seen` gets each. Throws `invalid_expression` for other names. */
export const parseFiltersWithVariables = (
  text: string,
  seen: (path: VariablePath) => void,
): readonly FilterCall[] =>
  filtersOf(createReader(text), false).map(({ name, args, named }) => {
    const checked = (operand: Operand): Operand => {
      if (operand.kind === 'literal') return operand
      const path = variableOf(operand.parts)
      if (path === undefined)
        throw badFilter(
          name,
          'takes numbers, texts in quotes, "request.body", "request.headers.<name>" and "configuration.<name>".',
        )
      seen(path)
      return operandOf(path)
    }
    return {
      name,
      args: args.map(checked),
      named: new Map([...named].map(([key, operand]) => [key, checked(operand)])),
    }
  })

/** `value | filter: argument, … | …` of a stored expression, lenient about commas. Throws `invalid_expression`. */
export const parseOutput = (
  text: string,
): { readonly head: Operand; readonly filters: readonly FilterCall[] } => {
  const reader = createReader(text)
  const head = reader.operand()
  if (head === undefined)
    throw badExpression('An expression has no value. Name a variable between "{{" and "}}".')
  return { head, filters: filtersOf(reader, true) }
}
