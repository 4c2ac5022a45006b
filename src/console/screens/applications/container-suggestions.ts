import type { Api } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { resource } from '../../kit/resource.ts'
import { signal } from '../../kit/signals.ts'
import { suggestContainers } from './containers.ts'

/**
 * Suggestions for containers. They are loaded when a field that has them gets the focus (`onFocus`), since the
 * comparison counts tokens; an error leaves the field without. `list` is the last element of the form.
 */
export const containerSuggestions = (
  api: Api,
  application: Application | undefined,
  within: AbortSignal,
): { readonly list: () => TemplateResult; readonly onFocus: (event: Event) => void } => {
  const isWanted = signal(false)
  const suggestions = resource(
    async (abort) => (isWanted.value ? suggestContainers(api, application, abort) : []),
    within,
  )
  return {
    list: () => html`<datalist id="containers">
      ${(suggestions.value.value ?? []).map((container) => html`<option value=${container}></option>`)}
    </datalist>`,
    onFocus: ({ target }) => {
      if (target instanceof HTMLInputElement && target.list !== null) isWanted.value = true
    },
  }
}
