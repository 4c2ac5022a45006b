import { aliasFilters } from './alias.ts'
import { cardFilters } from './cards.ts'
import { castFilters } from './casts.ts'
import { dateFilters } from './date.ts'
import { digestFilters } from './digest.ts'
import type { FilterRule } from './filter.ts'
import { jsonPathFilters } from './json-path.ts'
import { listFilters } from './lists.ts'
import { numberFilters } from './numbers.ts'
import { revealFilters } from './reveal.ts'
import { textFilters } from './text.ts'

/** All filters of completions §6 by name: those of the contract, then the standard ones. */
export const FILTERS: ReadonlyMap<string, FilterRule> = new Map(
  Object.entries({
    ...revealFilters,
    ...cardFilters,
    ...castFilters,
    ...aliasFilters,
    ...digestFilters,
    ...jsonPathFilters,
    ...textFilters,
    ...listFilters,
    ...numberFilters,
    ...dateFilters,
  }),
)
