import { LRUCache } from 'lru-cache'
import type { Json } from '../common/json.ts'
import type { Filter } from '../sdk/index.ts'
import { type Chain, compileFilters } from './chain.ts'
import { allFilters } from './filters/all.ts'
import type { FilterRule } from './filters/filter.ts'
import { LIMITS } from './limits.ts'
import { compileMask, type Mask } from './mask.ts'
import { parseStoredText } from './stored.ts'
import { parseFilters, parseFiltersWithVariables } from './syntax.ts'
import { parseTemplate } from './template.ts'
import type { Expressions, StoredExpression } from './types.ts'
import { toJson } from './values.ts'
import { variableAtHead } from './variables.ts'
import { bodyWork, storedWork, type Work } from './work.ts'

interface ExpressionsOptions {
  /** Filters of plugins, in addition to those of completions §6. They are not called for null: the result is null. */
  readonly filters?: Readonly<Record<string, Filter>>
}

const toPublic =
  (name: string, { run, takesNull }: FilterRule): Filter =>
  (value, ...args) =>
    value === null && !takesNull ? null : toJson(run(value, args, name, storedWork().use))

/**
 * The `{{ }}` language of completions §6. Compiled stored expressions are cached. Expressions in requests are not, so
 * that callers cannot evict them. Throws when a plugin's filter has an invalid or used name.
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

  /** Compiled masks of token types, which are frozen objects. Masks of single tokens are not cached. */
  const masks = new WeakMap<object, Mask>()
  const maskOf = (mask: Json): Mask => {
    if (typeof mask !== 'object' || mask === null || !Object.isFrozen(mask))
      return compileMask(mask, parseStored)
    const ready = masks.get(mask) ?? compileMask(mask, parseStored)
    masks.set(mask, ready)
    return ready
  }

  // Of one call, as a member of its work: values of a WeakMap survive all minor collections.
  const chains = Symbol('compiled filters')
  const chainsOf = (work: Work & { [chains]?: Map<string, Chain> }): Map<string, Chain> => {
    work[chains] ??= new Map()
    return work[chains]
  }
  const parse: Expressions['parse'] = (text, total = bodyWork(), seen) => {
    const work = storedWork(total)
    if (seen !== undefined) {
      const chainOf = (written: string): Chain => {
        work.use(LIMITS.call + written.length * LIMITS.syntax)
        return compileFilters(parseFiltersWithVariables(written, seen), filters)
      }
      const variableOf = (head: string) => {
        const path = variableAtHead(head)
        if (path !== undefined) seen(path)
        return path
      }
      return parseTemplate(text, { chainOf, variableOf }, work)
    }
    const chainOf = (written: string): Chain => {
      work.use(LIMITS.call)
      const known = chainsOf(total)
      const ready = known.get(written)
      if (ready !== undefined) return ready
      work.use(written.length * LIMITS.syntax)
      const chain = compileFilters(parseFilters(written), filters)
      if (known.size >= LIMITS.cache) known.clear()
      known.set(written, chain)
      return chain
    }
    return parseTemplate(text, { chainOf }, work)
  }

  const expressions: Expressions = {
    parse,
    within: (work) => ({
      ...expressions,
      parse: (text, own = work, seen) => expressions.parse(text, own, seen),
    }),
    parseStored,
    evaluateMask: (mask, variables, total) => maskOf(mask)(variables, storedWork(total)),
    filters: new Map([...filters].map(([name, rule]) => [name, toPublic(name, rule)])),
  }
  return expressions
}
