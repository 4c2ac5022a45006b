import { LRUCache } from 'lru-cache'
import type { Json } from '../common/json.ts'
import type { Filter } from '../sdk/index.ts'
import { type Chain, createEngine } from './engine.ts'
import { badFilter } from './faults.ts'
import type { InnerFilter } from './filters/filter.ts'
import { OWN_FILTERS } from './filters/index.ts'
import { LIMITS } from './limits.ts'
import { compileMask, type Mask } from './mask.ts'
import { parseStoredText } from './stored.ts'
import { parseTemplate } from './template.ts'
import type { Expressions, StoredExpression } from './types.ts'
import { toJson } from './values.ts'
import { storedWork } from './work.ts'

export interface ExpressionsOptions {
  /** Filters of plugins, besides those of completions §6; null in, null out is handled here. */
  readonly filters?: Readonly<Record<string, Filter>>
}

/** A plugin's filter sees and gives JSON only; what it throws, other than an AppError, tells nothing outside. */
const fromPlugin =
  (filter: Filter): InnerFilter =>
  (value, args, name) => {
    try {
      return toJson(filter(toJson(value), ...args.map(toJson)))
    } catch (error) {
      if (error instanceof Error && error.name === 'AppError') throw error
      throw badFilter(name, 'failed.')
    }
  }

const toPublic =
  (name: string, filter: InnerFilter): Filter =>
  (value, ...args) =>
    value === null ? null : toJson(filter(value, args, name))

const allFilters = (plugins: Readonly<Record<string, Filter>>): ReadonlyMap<string, InnerFilter> => {
  const filters = new Map(OWN_FILTERS)
  for (const [name, filter] of Object.entries(plugins)) {
    if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
      throw new Error(`The filter name "${name}" is not of the form [a-z][a-z0-9_]*; rename it.`)
    if (filters.has(name)) throw new Error(`There is a filter "${name}" already; rename the plugin's.`)
    filters.set(name, fromPlugin(filter))
  }
  return filters
}

/**
 * The `{{ }}` language of completions §6. Compiled filter chains and stored expressions are cached; texts, ids and
 * values are not. Throws at once when a plugin's filter has a bad or a taken name.
 */
export const createExpressions = ({ filters: plugins = {} }: ExpressionsOptions = {}): Expressions => {
  const filters = allFilters(plugins)
  const engine = createEngine(filters)
  const chains = new LRUCache<string, Chain>({ max: LIMITS.cache })
  const stored = new LRUCache<string, StoredExpression>({ max: LIMITS.cache })

  const chainOf = (text: string): Chain => {
    let chain = chains.get(text)
    if (chain === undefined) {
      chain = engine.chain(`v ${text}`, false)
      chains.set(text, chain)
    }
    return chain
  }

  const parseStored = (text: string): StoredExpression => {
    let expression = stored.get(text)
    if (expression === undefined) {
      expression = parseStoredText(text, engine)
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

  return {
    parse: (text) => parseTemplate(text, chainOf),
    parseStored,
    evaluateMask: (mask, variables, whole) => maskOf(mask)(variables, storedWork(whole)),
    filters: new Map([...filters].map(([name, filter]) => [name, toPublic(name, filter)])),
  }
}
