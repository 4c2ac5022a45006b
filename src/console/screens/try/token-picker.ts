import type { Token } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { field } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { computed, signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { maskedData } from '../tokens/cells.ts'
import { MASK_ONLY } from '../tokens/types.ts'
import { expression, pathsIn } from './call.ts'

const SIZE = 20

/** The newest tokens that the key may list or search, masked. */
const find = async ({ api }: ScreenContext, text: string, signal: AbortSignal): Promise<readonly Token[]> => {
  const query = { ...MASK_ONLY, size: SIZE }
  if (may('token:search')) {
    const body = { ...query, query: text }
    const { data } = await api.call<{ data: readonly Token[] }>('POST', '/v2/tokens/search', { body, signal })
    return data
  }
  const { data } = await api.call<{ data: readonly Token[] }>('GET', '/v2/tokens', {
    query: { ...query, type: text },
    signal,
  })
  return data
}

/** A dialog that picks a token and a part of it. The expression for it; undefined: none was picked. */
export const pickToken = async (context: ScreenContext): Promise<string | undefined> => {
  const within = new AbortController()
  const text = signal('')
  const selectedToken = signal<Token | undefined>(undefined)
  const path = signal('')
  const tokens = resource(
    (signal) => find(context, text.value, signal),
    AbortSignal.any([context.signal, within.signal]),
  )
  const selectedId = computed(() => selectedToken.value?.id ?? '')

  const row = (token: Token): TemplateResult => html`<label class="try-token">
    <input
      type="radio"
      name="token"
      .checked=${selectedToken.value?.id === token.id}
      @change=${() => {
        selectedToken.value = token
        path.value = ''
      }}
    />
    <span><code class="try-id">${token.id}</code> <span class="badge">${token.type}</span> ${maskedData(token)}</span>
  </label>`

  const list = (): TemplateResult => html`${field({
    label: may('token:search') ? 'Search' : 'Type',
    ...(may('token:search') ? { hint: 'E.g. type:card AND metadata.customer:42' } : {}),
    control: html`<input
            type="search"
            autocomplete="off"
            spellcheck="false"
            @change=${(event: Event) => {
              text.value = (event.target as HTMLInputElement).value.trim()
            }}
          />`,
  })}
        <fieldset class="try-tokens">
          <legend class="visually-hidden">Tokens</legend>
          ${show(tokens, (list) => html`${list.map(row)}`, { empty: 'No token is found.' })}
        </fieldset>`

  const parts = (): TemplateResult | typeof nothing => {
    const paths = pathsIn(selectedToken.value?.data)
    if (selectedId.value === '') return nothing
    return html`${field({
      label: 'Part (JSONPath)',
      hint:
        paths.length === 0
          ? 'Empty: all of its data.'
          : `Empty: all of its data. Or ${paths.slice(0, 4).join(', ')}.`,
      control: html`<input
          autocomplete="off"
          spellcheck="false"
          .value=${path.value}
          @input=${(event: Event) => {
            path.value = (event.target as HTMLInputElement).value.trim()
          }}
        />`,
    })}
      <p><code>${expression(selectedId.value, path.value)}</code></p>`
  }

  const result = await dialog<string>({
    title: 'Insert a token',
    body: (close) => html`<form
      class="try-picker"
      @submit=${(event: Event) => {
        event.preventDefault()
        if (selectedId.value !== '') close(expression(selectedId.value, path.value))
      }}
    >
      ${list()} ${parts()}
      <div class="buttons">
        <button class="primary" ?disabled=${selectedId.value === ''}>Insert</button>
        <button type="button" @click=${() => close()}>Cancel</button>
      </div>
    </form>`,
  })
  within.abort()
  return result
}
