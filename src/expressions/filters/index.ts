import { aliasFilters } from './alias.ts'
import { cardFilters } from './cards.ts'
import { castFilters } from './casts.ts'
import { digestFilters } from './digest.ts'
import type { InnerFilter } from './filter.ts'
import { jsonPathFilters } from './json-path.ts'
import { revealFilters } from './reveal.ts'

/** The filters of completions §6, by name. */
export const OWN_FILTERS: ReadonlyMap<string, InnerFilter> = new Map(
  Object.entries({
    ...revealFilters,
    ...cardFilters,
    ...castFilters,
    ...aliasFilters,
    ...digestFilters,
    ...jsonPathFilters,
  }),
)
