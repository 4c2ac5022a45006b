import type { Token } from '../../api/types.ts'
import { select } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { dataText } from './cells.ts'
import { formDialog, metadataField, type Put } from './forms.ts'
import { inputOf } from './input.ts'

export interface Description {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly examples?: readonly unknown[] }>>
  }
}

/** The token types that the API describes, `data.<type>` in its schemas, with an example of data. */
export const typesOf = ({ components: { schemas } }: Description) =>
  Object.entries(schemas)
    .filter(([name]) => name.startsWith('data.'))
    .map(([name, { examples: [example = ''] = [] }]) => ({
      name: name.slice(5),
      example: dataText(example, 2),
    }))
    .sort((a, b) => a.name.localeCompare(b.name))

/** Asks for a token, creates it and opens its page. */
export const createToken = async ({
  api,
  signal: within,
  navigate,
}: Pick<ScreenContext, 'api' | 'signal' | 'navigate'>): Promise<void> => {
  const description = resource((signal) => api.call<Description>('GET', '/openapi.json', { signal }), within)
  const type = signal('card')
  const idempotency = createIdempotencyKey()
  const typeSelect = (types: readonly string[]) =>
    select({
      name: 'type',
      value: type.value,
      choices: types.map((name) => [name, name]),
      set: (name) => {
        type.value = name
      },
    })
  const line = (name: string, placeholder: string) =>
    html`<input name=${name} placeholder=${placeholder} spellcheck="false" autocapitalize="off" />`
  const container = line('containers', '/customers/42/')
  const mask = line('mask', '{{ data | reveal_last: 4 }}')
  const fields = (put: Put, types: ReturnType<typeof typesOf>) => html`${put(
    'type',
    'Type',
    undefined,
    typeSelect(types.map(({ name }) => name)),
  )}
    ${put(
      'data',
      'Data',
      'JSON, or a text. It is stored encrypted.',
      html`<textarea
        name="data"
        rows="6"
        required
        autofocus
        autocomplete="off"
        spellcheck="false"
        placeholder=${types.find(({ name }) => name === type.value)?.example ?? ''}
      ></textarea>`,
    )}
    ${put('containers', 'Container', "Decides whose rules apply. Empty: the type's own.", container)}
    ${metadataField(put)}
    ${put('mask', 'Mask', "An expression, or JSON with expressions. Empty: the type's own.", mask)}`
  const id = await formDialog({
    title: 'Create a token',
    submit: 'Create',
    fields: (put) => show(description, (loaded) => fields(put, typesOf(loaded))),
    send: async (text) => {
      const body = inputOf(text)
      return (await api.call<Token>('POST', '/tokens', { body, headers: idempotency.headers(body) })).id
    },
  })
  if (id !== undefined) navigate(link`/tokens/${id}`)
}
