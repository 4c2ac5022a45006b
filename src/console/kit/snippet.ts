import type { CallOptions } from '../api/client.ts'
import { headerPrefix } from '../api/prefix.ts'
import { copy } from './copy.ts'
import { html, type TemplateResult } from './html.ts'
import { SNIPPETS, type SnippetLanguage } from './snippet-texts.ts'

/** A menu that copies a call of the API as a program. Paths as in the API: `/tokens`. */
export const snippet = (
  method: string,
  path: string,
  { query, body, headers }: Pick<CallOptions, 'query' | 'body' | 'headers'> = {},
): TemplateResult => html`<details class="pick">
  <summary>Copy as …</summary>
  <div class="menu">
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
          ;(event.currentTarget as Element).closest('details')?.removeAttribute('open')
          void copy(text, `Copied as ${language}. Set SIDEVAULT_API_KEY to the key.`)
        }}
      >
        ${language}
      </button>`,
    )}
  </div>
</details>`
