import { field } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { link } from '../../router.ts'

/** For keys that may not list tokens: a token by its id. */
export const lookup = ({ navigate }: ScreenContext): TemplateResult => html`<p>
    The key that is signed in may not list tokens. It shows who can see a token, and its history.
  </p>
  <p class="soft">To list and search tokens, add the key of a private application with <code>token:read</code> and <code>token:search</code>.</p>
  <form
    class="inline"
    role="search"
    @submit=${(event: SubmitEvent) => {
      event.preventDefault()
      const id = String(new FormData(event.currentTarget as HTMLFormElement).get('id') ?? '').trim()
      if (id !== '') navigate(link`/tokens/${id}`)
    }}
  >
    ${field({
      label: 'Token id',
      control: html`<input name="id" autocomplete="off" spellcheck="false" autocapitalize="off" required />`,
    })}
    <button class="primary">Open</button>
  </form>`
