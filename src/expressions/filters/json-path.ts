import { JSONPathEnvironment, type JSONPathQuery, type JSONValue } from 'json-p3'
import { LRUCache } from 'lru-cache'
import { badFilter } from '../faults.ts'
import { LIMITS } from '../limits.ts'
import { toText } from '../values.ts'
import { type InnerFilter, stringArg } from './filter.ts'

/** RFC 9535. `match` and `search` are taken out: they run a caller's regular expressions. */
const environment = new JSONPathEnvironment({ strict: true, maxRecursionDepth: 128 })
environment.functionRegister.delete('match')
environment.functionRegister.delete('search')

/** Most ways in which the selectors of one path may reach the same node. */
const MOST_BRANCHES = 16

interface InnerQuery {
  readonly query: JSONPathQuery
  /** Begins at the document (`$`), not at the node looked at (`@`). */
  readonly root: boolean
}

const queriesWithin = (expression: unknown): InnerQuery[] => {
  if (typeof expression !== 'object' || expression === null) return []
  const { path, token, expression: inner, left, right, args } = expression as Record<string, unknown>
  if (path !== undefined) {
    const root = (token as { readonly kind: unknown }).kind === 'TOKEN_ROOT'
    return [{ query: path as JSONPathQuery, root }]
  }
  return [inner, left, right, ...(Array.isArray(args) ? args : [])].flatMap(queriesWithin)
}

/**
 * True when the work of a path is linear in the document: at most one descent, few lists of selectors, and filters
 * that look at members without descending or filtering again.
 */
const isCheap = (query: JSONPathQuery, inFilter: boolean): boolean => {
  let descents = 0
  let branches = 1
  for (const segment of query.segments) {
    if (String(segment.token.kind) === 'TOKEN_DDOT') descents++
    branches *= segment.selectors.length
    if (descents > (inFilter ? 0 : 1) || branches > MOST_BRANCHES) return false
    for (const selector of segment.selectors) {
      if (!('expression' in selector)) continue
      if (inFilter) return false
      for (const inner of queriesWithin(selector))
        if (inner.root ? !inner.query.singularQuery() : !isCheap(inner.query, true)) return false
    }
  }
  return true
}

const compiled = new LRUCache<string, JSONPathQuery>({ max: LIMITS.cache })

const compile = (path: string, name: string): JSONPathQuery => {
  const known = compiled.get(path)
  if (known !== undefined) return known
  let query: JSONPathQuery
  try {
    query = environment.compile(path)
  } catch {
    throw badFilter(name, "cannot read its argument as a JSONPath such as '$.member'.")
  }
  if (!isCheap(query, false))
    throw badFilter(name, 'refuses a JSONPath that costly. Use one descent (..) at most.')
  compiled.set(path, query)
  return query
}

/** `json: path`: the one node a JSONPath selects; none → null; several → `bad_expression`. Without a path: JSON text. */
const json: InnerFilter = (value, args, name) => {
  if (args.length === 0) return typeof value === 'string' ? JSON.stringify(value) : toText(value)
  const query = compile(stringArg(args, 0, name), name)
  let found: { readonly value: unknown } | undefined
  try {
    for (const node of query.lazyQuery(value as JSONValue)) {
      if (found !== undefined) throw badFilter(name, 'selects several values; write a path that selects one.')
      found = node
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    throw badFilter(name, 'cannot apply its path to this token.')
  }
  return found === undefined ? null : found.value
}

export const jsonPathFilters: Readonly<Record<string, InnerFilter>> = { json }
