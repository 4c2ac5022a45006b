import type { Token } from '../../api/types.ts'
import { choiceField, field } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { formDialog } from './form-dialog.ts'
import { metadataField } from './metadata-field.ts'
import { inputOf } from './token-input.ts'

export interface Description {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly examples?: readonly unknown[] }>>
  }
}

interface TokenType {
  readonly name: string
  readonly example: string
}

const PREFIX = 'data.'

/** The token types that the API describes: `data.<type>` in its schemas. */
export const typesOf = ({ components: { schemas } }: Description): readonly TokenType[] =>
  Object.entries(schemas)
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, { examples: [example = ''] = [] }]) => ({
      name: name.slice(PREFIX.length),
      example: typeof example === 'string' ? example : JSON.stringify(example, null, 2),
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
  const id = await formDialog({
    title: 'Create a token',
    submit: 'Create',
    fields: (sentence) =>
      show(description, (loaded) => {
        const types = typesOf(loaded)
        return html`${choiceField({
          label: 'Type',
          error: sentence('type'),
          name: 'type',
          value: type.value,
          choices: types.map(({ name }) => [name, name]),
          set: (name) => {
            type.value = name
          },
        })}
        ${field({
          label: 'Data',
          hint: 'JSON, or a text. It is stored encrypted.',
          error: sentence('data'),
          control: html`<textarea
            name="data"
            rows="6"
            required
            autofocus
            autocomplete="off"
            spellcheck="false"
            placeholder=${types.find(({ name }) => name === type.value)?.example ?? ''}
          ></textarea>`,
        })}
        ${field({
          label: 'Container',
          hint: "Decides whose rules apply. Empty: the type's own.",
          error: sentence('containers'),
          control: html`<input name="containers" placeholder="/customers/42/" spellcheck="false" autocapitalize="off" />`,
        })}
        ${metadataField(sentence('metadata'))}
        ${field({
          label: 'Mask',
          hint: "An expression, or JSON with expressions. Empty: the type's own.",
          error: sentence('mask'),
          control: html`<input name="mask" placeholder=${'{{ data | reveal_last: 4 }}'} spellcheck="false" autocapitalize="off" />`,
        })}`
      }),
    send: async (text) => {
      const body = inputOf(text)
      return (await api.call<Token>('POST', '/tokens', { body, headers: idempotency.headers(body) })).id
    },
  })
  if (id !== undefined) navigate(link`/tokens/${id}`)
}
