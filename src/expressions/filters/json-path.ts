import { JSONPathEnvironment, type JSONPathQuery, type JSONValue } from 'json-p3'
import { LRUCache } from 'lru-cache'
import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { toText, weigh } from '../values.ts'
import { type FilterRules, type InnerFilter, stringArg } from './filter.ts'

/** RFC 9535 without `match` and `search`, which would run regular expressions of callers. */
const environment = new JSONPathEnvironment({ strict: true, maxRecursionDepth: 128 })
environment.functionRegister.delete('match')
environment.functionRegister.delete('search')

/** Limit of ways in which the selectors of one path can reach the same node. */
const MAX_BRANCHES = 16
/** Units to parse a character of a path. */
const READ = 10
/** Units for each visited node and each step of a path, including paths within filters. */
const VISIT = 10
/** Comparisons of one node as a part of others: the maximum depth of data. */
const NESTED = 64

interface Path {
  readonly query: JSONPathQuery
  /** Units for each node of a document. Undefined: a singular path. */
  readonly visiting: number | undefined
}

const tooCostly = (name: string) =>
  badFilter(
    name,
    'rejects this JSONPath as too costly. Use at most one descent (..), and only "@" in filters.',
  )

interface Parts {
  readonly path?: JSONPathQuery
  readonly token?: { readonly kind: unknown }
  readonly expression?: unknown
  readonly left?: unknown
  readonly right?: unknown
  readonly args?: readonly unknown[]
}

/** Steps of a filter for each node. It must not descend, contain a filter, or start at the root. */
const filterSteps = (expression: unknown, name: string): number => {
  if (typeof expression !== 'object' || expression === null) return 0
  const { path, token, expression: inner, left, right, args = [] } = expression as Parts
  if (path !== undefined) {
    if (String(token?.kind) === 'TOKEN_ROOT') throw tooCostly(name)
    return stepsOf(path, true, name)
  }
  const isPath = (side: unknown) => (side as Parts | undefined)?.path !== undefined
  const compared = isPath(left) && isPath(right) ? NESTED : 1
  return (
    [inner, left, right, ...args].reduce<number>((sum, part) => sum + filterSteps(part, name), 1) * compared
  )
}

/** Steps of a path for each node of a document: the work is linear in the document. */
const stepsOf = (query: JSONPathQuery, inFilter: boolean, name: string): number => {
  let descents = 0
  let branches = 1
  let steps = 1
  for (const segment of query.segments) {
    if (String(segment.token.kind) === 'TOKEN_DDOT') descents++
    branches *= segment.selectors.length
    if (descents > (inFilter ? 0 : 1) || branches > MAX_BRANCHES) throw tooCostly(name)
    for (const selector of segment.selectors) {
      steps++
      if (!('expression' in selector)) continue
      if (inFilter) throw tooCostly(name)
      steps += filterSteps(selector.expression, name)
    }
  }
  return steps * branches
}

const read = (path: string, name: string): Path => {
  let query: JSONPathQuery
  try {
    query = environment.compile(path)
  } catch {
    throw badFilter(name, "cannot read its argument as a JSONPath such as '$.member'.")
  }
  const steps = stepsOf(query, false, name)
  return { query, visiting: query.singularQuery() ? undefined : steps * VISIT }
}

// A member of the argument list, which a compiled expression passes each time: values of a WeakMap survive all minor
// collections.
const PATH = Symbol('path')
/** Read paths by their text. The work of reading is charged each time. */
const paths = new LRUCache<string, Path>({ max: LIMITS.cache })

const pathOf = (
  args: readonly unknown[] & { [PATH]?: Path },
  name: string,
  use: (units: number) => void,
): Path => {
  const ready = args[PATH]
  if (ready !== undefined) return ready
  const text = stringArg(args, 0, name)
  if (text.length > LIMITS.pattern)
    throw badFilter(name, `accepts a JSONPath of at most ${LIMITS.pattern} characters.`)
  use(text.length * READ)
  const path = paths.get(text) ?? read(text, name)
  paths.set(text, path)
  args[PATH] = path
  return path
}

/**
 * `json: path`: the node that a JSONPath selects; none → null; several → `invalid_expression`. Without a path: JSON
 * text.
 */
const json: InnerFilter = (value, args, name, use) => {
  if (args.length === 0) {
    weigh(value, (characters) => use(characters / 4))
    return typeof value === 'string' ? JSON.stringify(value) : toText(value)
  }
  const { query, visiting } = pathOf(args, name, use)
  if (visiting === undefined) use(query.segments.length * VISIT)
  else weigh(value, (characters) => use((characters / LIMITS.element) * visiting))
  let match: { readonly value: unknown } | undefined
  try {
    for (const node of query.lazyQuery(value as JSONValue)) {
      if (match !== undefined) throw badFilter(name, 'selects several values; write a path that selects one.')
      match = node
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    throw badFilter(name, 'cannot apply its path to this token.')
  }
  return match === undefined ? null : match.value
}

/** A filter of a path (`?`) compares values. */
const hasNoFilter = ([path]: readonly unknown[]): boolean => !String(path ?? '').includes('?')

export const jsonPathFilters: FilterRules = {
  json: { run: json, rate: 1 / 16, isShallow: true, forOpaque: hasNoFilter },
}
