import type { Filter } from '../../sdk/index.ts'
import type { Filters } from '../chain.ts'
import { badFilter } from '../errors.ts'
import { toJson } from '../values.ts'
import type { FilterRule } from './filter.ts'
import { FILTERS } from './index.ts'

/** Units for each character of input and output of a plugin's filter. */
const OF_PLUGINS = 1

/** A plugin's filter gets and returns JSON only. Its errors other than AppError are hidden. */
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

/** All filters by name. Throws for a plugin's name that is malformed or already in use. */
export const allFilters = (plugins: Readonly<Record<string, Filter>>): Filters => {
  const filters = new Map(FILTERS)
  for (const [name, filter] of Object.entries(plugins)) {
    if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
      throw new Error(`The filter name "${name}" does not match [a-z][a-z0-9_]*; rename it.`)
    if (filters.has(name)) throw new Error(`The filter "${name}" already exists; rename the plugin's filter.`)
    filters.set(name, fromPlugin(filter))
  }
  return filters
}
