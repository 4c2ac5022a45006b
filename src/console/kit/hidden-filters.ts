import { html, nothing, type TemplateResult } from './html.ts'
import type { ScreenContext } from './screen.ts'

/** A sentence for a list, shown while one of its filters is not in the address. */
export const hiddenFiltersNote = ({
  hasHiddenFilters,
}: Pick<ScreenContext, 'hasHiddenFilters'>): TemplateResult | typeof nothing =>
  hasHiddenFilters.value
    ? html`<p class="soft small">Filters that may hold data stay out of the page's address and of the browser's history.</p>`
    : nothing
