import type { Token } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { field, valueIn } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { computed, signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { maskedData } from '../tokens/cells.ts'
import { MASK_ONLY } from '../tokens/types.ts'
import { expression, pathsIn } from './call.ts'

/** `GET /openapi.json`. */
interface Description {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> }
}

/** A dialog that picks a token and a part of it. Its expression, as `write` has it; undefined: none was picked. */
export const pickToken = async (
  { api, signal: within }: ScreenContext,
  write: (expression: string) => string,
): Promise<string | undefined> => {
  const end = new AbortController()
  const isOpen = AbortSignal.any([within, end.signal])
  const text = signal('')
  const chosen = signal<Token | undefined>(undefined)
  const path = signal('')
  const maySearch = may('token:search')
  /** The newest tokens that the key may list or search, masked. */
  const tokens = resource(async (signal) => {
    const query = { ...MASK_ONLY, size: 20, [maySearch ? 'query' : 'type']: text.value }
    const { data } = await (maySearch
      ? api.call<ListResponse<Token>>('POST', '/v2/tokens/search', { body: query, signal })
      : api.call<ListResponse<Token>>('GET', '/v2/tokens', { query, signal }))
    return data
  }, isOpen)
  const description = resource((signal) => api.call<Description>('GET', '/openapi.json', { signal }), isOpen)
  const result = computed(() => (chosen.value ? write(expression(chosen.value.id, path.value)) : ''))

  const row = (token: Token): TemplateResult => html`<label class="try-token">
    <input
      type="radio"
      name="token"
      .checked=${chosen.value?.id === token.id}
      @change=${() => {
        chosen.value = token
        path.value = ''
      }}
    />
    <span class="inline"><code>${token.id}</code> <span class="badge">${token.type}</span> ${maskedData(token)}</span>
  </label>`

  const partField = (token: Token): TemplateResult => {
    // Members that the type declares, a mask without them included, and those that the mask has.
    const { properties } = description.value.value?.components.schemas[`data.${token.type}`] ?? {}
    const paths = [...new Set([...pathsIn(properties, '$', 1), ...pathsIn(token.data)])]
    return html`${field({
      label: 'Part',
      hint: 'A member, or another JSONPath, e.g. $.owner.name. Empty: all of its data.',
      control: html`<input
        list="try-parts"
        .value=${live(path.value)}
        @input=${(event: Event) => {
          path.value = valueIn(event).trim()
        }}
      />`,
    })}
      <datalist id="try-parts">${paths.map((path) => html`<option value=${path}>${path.replace(/^\$\.?/, '')}</option>`)}</datalist>
      <p><code>${result.value}</code></p>`
  }

  const inserted = await dialog<string>({
    title: 'Insert a token',
    body: (close) => html`<form
      class="try-picker"
      autocomplete="off"
      spellcheck="false"
      @submit=${(event: Event) => {
        event.preventDefault()
        if (result.value !== '') close(result.value)
      }}
    >
      ${field({
        label: maySearch ? 'Search' : 'Type',
        ...(maySearch ? { hint: 'E.g. type:card AND metadata.customer:42' } : {}),
        control: html`<input
          type="search"
          @change=${(event: Event) => {
            text.value = valueIn(event).trim()
          }}
        />`,
      })}
      <fieldset class="try-tokens">
        <legend class="visually-hidden">Tokens</legend>
        ${show(tokens, (list) => html`${list.map(row)}`, { empty: 'No token is found.' })}
      </fieldset>
      ${chosen.value === undefined ? nothing : partField(chosen.value)}
      <div class="buttons">
        <button class="primary" ?disabled=${result.value === ''}>Insert</button>
        <button type="button" @click=${() => close()}>Cancel</button>
      </div>
    </form>`,
  })
  end.abort()
  return inserted
}
