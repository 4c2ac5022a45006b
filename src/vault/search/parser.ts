import { invalid } from '../../common/errors.ts'
import type { SearchNode } from '../../store/tokens/types.ts'
import { FIELDS, matchNode, type Range, rangeNode, SearchIssue, type Value } from './values.ts'

/** Limits of a query: characters, nesting of parentheses and negations, clauses. */
const LIMITS = { length: 4000, depth: 20, clauses: 100 } as const

const BLANK = /\s*/y
const OR = /OR(?![\w.:-])/y
const AND = /AND(?![\w.:-])/y
const NOT = /NOT(?![\w.:-])|[!-]/y
const FIELD = /([A-Za-z_][\w.-]*):/y
const QUOTED = /"((?:[^"\\]|\\.)*)"/sy
/**
 * A bare word. Characters with a meaning in the language family that is not supported here must be quoted or escaped.
 */
const WORD = /(?:[^\s()[\]{}"^~?*\\]|\\.)+/sy
const TO = /\s+TO\s+/y

const unescaped = (text: string): string => text.replace(/\\(.)/gs, '$1')

/**
 * Parses the query language of completions §5 to conditions for the store: OR binds weakest, then AND (also between
 * terms that follow each other), then NOT. Values of `data` become terms at once. Throws `invalid` for unsupported
 * syntax, without repeating the query.
 */
export const parseQuery = (query: string, term: (text: string) => Buffer): SearchNode => {
  let at = 0
  let depth = 0
  let clauses = 0

  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const matched = pattern.exec(query) ?? undefined
    if (matched) at = pattern.lastIndex
    return matched
  }
  const next = (character: string): boolean => {
    if (query[at] !== character) return false
    at += 1
    return true
  }
  const nested = (parse: () => SearchNode): SearchNode => {
    depth += 1
    if (depth > LIMITS.depth) throw new SearchIssue(`must not nest deeper than ${LIMITS.depth}`)
    const node = parse()
    depth -= 1
    return node
  }

  const quoted = (): string | undefined => {
    const quoted = match(QUOTED)
    return quoted && unescaped(quoted[1] ?? '')
  }
  const value = (): Value => {
    const phrase = quoted()
    if (phrase !== undefined) return { text: phrase, wild: false }
    const word = match(WORD)
    const wild = next('*')
    if (!word && !wild) throw new SearchIssue('a field must be followed by a value; quote special characters')
    return { text: unescaped(word?.[0] ?? ''), wild }
  }
  const range = (): Range | undefined => {
    const opening = query[at]
    if (opening !== '[' && opening !== '{') return undefined
    at += 1
    const bound = (): string | undefined => {
      if (next('*')) return undefined
      const text = quoted() ?? match(WORD)?.[0]
      if (text === undefined) throw new SearchIssue('a range must be [a TO b] or {a TO b}')
      return unescaped(text)
    }
    match(BLANK)
    const from = bound()
    if (!match(TO)) throw new SearchIssue('a range must be [a TO b] or {a TO b}')
    const to = bound()
    match(BLANK)
    const closing = query[at]
    if (closing !== ']' && closing !== '}') throw new SearchIssue('a range must be [a TO b] or {a TO b}')
    at += 1
    return {
      ...(from === undefined ? {} : { from: { text: from, inclusive: opening === '[' } }),
      ...(to === undefined ? {} : { to: { text: to, inclusive: closing === ']' } }),
    }
  }

  const clause = (): SearchNode => {
    const field = match(FIELD)?.[1]
    if (field === undefined)
      throw new SearchIssue(`each term must be field:value, the field one of ${FIELDS}`)
    clauses += 1
    if (clauses > LIMITS.clauses) throw new SearchIssue(`must not have more than ${LIMITS.clauses} terms`)
    const bounds = range()
    const node = bounds ? rangeNode(field, bounds) : matchNode(field, value(), term)
    if (at < query.length && !/[\s)]/.test(query[at] as string))
      throw new SearchIssue('a value with special characters must be quoted')
    return node
  }
  const unary = (): SearchNode => {
    match(BLANK)
    if (match(NOT)) return { kind: 'not', node: nested(unary) }
    if (!next('(')) return clause()
    const node = nested(disjunction)
    match(BLANK)
    if (!next(')')) throw new SearchIssue('a parenthesis is not closed')
    return node
  }
  const conjunction = (): SearchNode => {
    const nodes = [unary()]
    for (;;) {
      match(BLANK)
      const explicit = match(AND)
      if (!explicit) {
        if (at >= query.length || query[at] === ')') break
        const before = at
        if (match(OR)) {
          at = before
          break
        }
      }
      nodes.push(unary())
    }
    return nodes.length === 1 ? (nodes[0] as SearchNode) : { kind: 'and', nodes }
  }
  const disjunction = (): SearchNode => {
    const nodes = [conjunction()]
    for (match(BLANK); match(OR); match(BLANK)) nodes.push(conjunction())
    return nodes.length === 1 ? (nodes[0] as SearchNode) : { kind: 'or', nodes }
  }

  try {
    if (query.length > LIMITS.length)
      throw new SearchIssue(`must not be longer than ${LIMITS.length} characters`)
    const node = disjunction()
    match(BLANK)
    if (at < query.length) throw new SearchIssue('a parenthesis is closed that was not opened')
    return node
  } catch (error) {
    if (!(error instanceof SearchIssue)) throw error
    throw invalid({ query: [error.message] }, 'The search query is not supported; see "errors".')
  }
}
