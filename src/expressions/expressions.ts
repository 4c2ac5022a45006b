import { LRUCache } from 'lru-cache'
import type { Json } from '../common/json.ts'
import type { Filter } from '../sdk/index.ts'
import { type Chain, compileFilters, type Filters } from './chain.ts'
import { badFilter } from './errors.ts'
import type { FilterRule } from './filters/filter.ts'
import { FILTERS } from './filters/index.ts'
import { LIMITS } from './limits.ts'
import { compileMask, type Mask } from './mask.ts'
import { parseStoredText } from './stored.ts'
import { parseFilters } from './syntax.ts'
import { parseTemplate } from './template.ts'
import type { Expressions, StoredExpression } from './types.ts'
import { toJson } from './values.ts'
import { bodyWork, storedWork, type Work } from './work.ts'

export interface ExpressionsOptions {
  /** Filters of plugins, besides those of completions §6; null in, null out is handled here. */
  readonly filters?: Readonly<Record<string, Filter>>
}

/** Units for each character that a filter of a plugin is given or gives. */
const OF_PLUGINS = 1

/** A plugin's filter sees and gives JSON only; what it throws, other than an AppError, tells nothing outside. */
const fromPlugin = (filter: Filter): FilterRule => ({
  rate: OF_PLUGINS,
  run: (value, args, name) => {
    try {
      return toJson(filter(toJson(value), ...args.map(toJson)))
    } catch (error) {
      if (error instanceof Error && error.name === 'AppError') throw error
      throw badFilter(name, 'failed.')
    }
  },
})

const toPublic =
  (name: string, { run, takesNull }: FilterRule): Filter =>
  (value, ...args) =>
    value === null && !takesNull ? null : toJson(run(value, args, name, storedWork().use))

/** Those of the language and of plugins, by name. Throws for a name that is malformed or taken. */
export const allFilters = (plugins: Readonly<Record<string, Filter>>): Filters => {
  const filters = new Map(FILTERS)
  for (const [name, filter] of Object.entries(plugins)) {
    if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
      throw new Error(`The filter name "${name}" is not of the form [a-z][a-z0-9_]*; rename it.`)
    if (filters.has(name)) throw new Error(`There is a filter "${name}" already; rename the plugin's.`)
    filters.set(name, fromPlugin(filter))
  }
  return filters
}

/**
 * The `{{ }}` language of completions §6. Stored expressions are kept compiled; what callers send is not, so that nobody
 * drives out what others use. Throws at once when a plugin's filter has a bad or a taken name.
 */
export const createExpressions = ({ filters: plugins = {} }: ExpressionsOptions = {}): Expressions => {
  const filters = allFilters(plugins)
  const stored = new LRUCache<string, StoredExpression>({ max: LIMITS.cache })

  const parseStored = (text: string): StoredExpression => {
    let expression = stored.get(text)
    if (expression === undefined) {
      expression = parseStoredText(text, filters)
      stored.set(text, expression)
    }
    return expression
  }

  /** Of token types, whose masks are frozen; those of single tokens come and go. */
  const masks = new WeakMap<object, Mask>()
  const maskOf = (mask: Json): Mask => {
    if (typeof mask !== 'object' || mask === null || !Object.isFrozen(mask))
      return compileMask(mask, parseStored)
    const ready = masks.get(mask) ?? compileMask(mask, parseStored)
    masks.set(mask, ready)
    return ready
  }

  /** What the expressions of one call have compiled. */
  const chains = new WeakMap<Work, Map<string, Chain>>()
  const parse: Expressions['parse'] = (text, whole = bodyWork()) => {
    const known = chains.get(whole) ?? new Map<string, Chain>()
    chains.set(whole, known)
    const work = storedWork(whole)
    const chainOf = (written: string): Chain => {
      work.use(LIMITS.call)
      const ready = known.get(written)
      if (ready !== undefined) return ready
      work.use(written.length * LIMITS.syntax)
      const chain = compileFilters(parseFilters(written), filters)
      if (known.size >= LIMITS.cache) known.clear()
      known.set(written, chain)
      return chain
    }
    return parseTemplate(text, chainOf, work)
  }

  const expressions: Expressions = {
    parse,
    within: (work) => ({ ...expressions, parse: (text, own = work) => parse(text, own) }),
    parseStored,
    evaluateMask: (mask, variables, whole) => maskOf(mask)(variables, storedWork(whole)),
    filters: new Map([...filters].map(([name, rule]) => [name, toPublic(name, rule)])),
  }
  return expressions
}
