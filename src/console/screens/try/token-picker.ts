import type { Token } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { choiceField, field, valueIn } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { computed, signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { maskedData } from '../tokens/cells.ts'
import { MASK_ONLY } from '../tokens/types.ts'
import { expression, pathsIn } from './call.ts'

const SIZE = 20
/** Choice of a part by a JSONPath. */
const OTHER = 'other'

/** `GET /openapi.json`. */
interface Description {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>
  }
}

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

/** A dialog that picks a token and a part of it. Its expression, as `write` has it; undefined: none was picked. */
export const pickToken = async (
  context: ScreenContext,
  write: (expression: string) => string,
): Promise<string | undefined> => {
  const within = new AbortController()
  const text = signal('')
  const selectedToken = signal<Token | undefined>(undefined)
  const part = signal('')
  const path = signal('')
  const isOpen = AbortSignal.any([context.signal, within.signal])
  const tokens = resource((signal) => find(context, text.value, signal), isOpen)
  const description = resource(
    (signal) => context.api.call<Description>('GET', '/openapi.json', { signal }),
    isOpen,
  )
  const result = computed(() => {
    const id = selectedToken.value?.id
    return id === undefined ? '' : write(expression(id, part.value === OTHER ? path.value : part.value))
  })
  /** Members that the type declares, a mask without them included, and those that the mask has. */
  const paths = (token: Token): readonly string[] => {
    const { properties } = description.value.value?.components.schemas[`data.${token.type}`] ?? {}
    return [...new Set([...pathsIn(properties, '$', 1), ...pathsIn(token.data)])]
  }

  const row = (token: Token): TemplateResult => html`<label class="try-token">
    <input
      type="radio"
      name="token"
      .checked=${selectedToken.value?.id === token.id}
      @change=${() => {
        selectedToken.value = token
        part.value = ''
      }}
    />
    <span><code>${token.id}</code> <span class="badge">${token.type}</span> ${maskedData(token)}</span>
  </label>`

  const list = (): TemplateResult => html`${field({
    label: may('token:search') ? 'Search' : 'Type',
    ...(may('token:search') ? { hint: 'E.g. type:card AND metadata.customer:42' } : {}),
    control: html`<input
            type="search"
            autocomplete="off"
            spellcheck="false"
            @change=${(event: Event) => {
              text.value = valueIn(event).trim()
            }}
          />`,
  })}
        <fieldset class="try-tokens">
          <legend class="visually-hidden">Tokens</legend>
          ${show(tokens, (list) => html`${list.map(row)}`, { empty: 'No token is found.' })}
        </fieldset>`

  const parts = (token: Token): TemplateResult => html`${choiceField({
    label: 'Part',
    value: part.value,
    choices: [
      ['', 'all of its data'],
      ...paths(token).map((path) => [path, path.replace(/^\$\.?/, '')] as const),
      [OTHER, 'another part …'],
    ],
    set: (chosen) => {
      part.value = chosen
    },
  })}
      ${
        part.value === OTHER
          ? field({
              label: 'JSONPath',
              hint: 'E.g. $.owner.name',
              control: html`<input
                autocomplete="off"
                spellcheck="false"
                .value=${path.value}
                @input=${(event: Event) => {
                  path.value = valueIn(event).trim()
                }}
              />`,
            })
          : nothing
      }
      <p><code>${result.value}</code></p>`

  const inserted = await dialog<string>({
    title: 'Insert a token',
    body: (close) => html`<form
      class="try-picker"
      @submit=${(event: Event) => {
        event.preventDefault()
        if (result.value !== '') close(result.value)
      }}
    >
      ${list()} ${selectedToken.value === undefined ? nothing : parts(selectedToken.value)}
      <div class="buttons">
        <button class="primary" ?disabled=${result.value === ''}>Insert</button>
        <button type="button" @click=${() => close()}>Cancel</button>
      </div>
    </form>`,
  })
  within.abort()
  return inserted
}
