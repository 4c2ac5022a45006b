import type { CallOptions } from '../api/client.ts'
import { headerPrefix } from '../api/prefix.ts'
import { copy } from './copy.ts'
import { html, ref, type TemplateResult } from './html.ts'
import { icon } from './icon.ts'
import { SNIPPETS, type SnippetLanguage } from './snippet-texts.ts'

const connect = (button: Element | undefined): void => {
  if (button instanceof HTMLButtonElement) button.popoverTargetElement = button.nextElementSibling
}

/** A menu that copies a call of the API as a program. Paths as in the API: `/tokens`. */
export const snippet = (
  method: string,
  path: string,
  { query, body, headers }: Pick<CallOptions, 'query' | 'body' | 'headers'> = {},
): TemplateResult => html`<button type="button" ${ref(connect)}>Copy as … ${icon('down')}</button>
  <div popover class="pick">
    ${(Object.keys(SNIPPETS) as SnippetLanguage[]).map(
      (language) => html`<button
        type="button"
        @click=${(event: Event) => {
          const text = SNIPPETS[language]({
            method,
            path,
            query,
            body,
            headers,
            origin: location.origin,
            prefix: headerPrefix(),
          })
          ;(event.currentTarget as Element).closest<HTMLElement>('.pick')?.hidePopover()
          void copy(text, `Copied as ${language}. Set SIDEVAULT_API_KEY to the key.`)
        }}
      >
        ${language}
      </button>`,
    )}
  </div>`
