import type { Token } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { once } from '../../kit/idempotency.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { parseMetadata } from './metadata-text.ts'
import { containerOf } from './query.ts'

interface TokenType {
  readonly name: string
  /** Accepts any JSON, or objects. */
  readonly isJson: boolean
  /** From the API's description. */
  readonly example: string
}

interface Description {
  readonly components: {
    readonly schemas: Readonly<
      Record<string, { readonly type?: unknown; readonly examples?: readonly unknown[] }>
    >
  }
}

/** The token types that the API describes: `data.<type>` in its schemas. */
export const typesOf = ({ components: { schemas } }: Description): readonly TokenType[] =>
  Object.entries(schemas)
    .filter(([name]) => name.startsWith('data.'))
    .map(([name, { type, examples = [] }]) => {
      const [example] = examples
      return {
        name: name.slice('data.'.length),
        isJson: type !== 'string',
        example:
          typeof example === 'string' || example === undefined
            ? String(example ?? '')
            : JSON.stringify(example, null, 2),
      }
    })
    .sort((a, b) => a.name.localeCompare(b.name))

/** Data as it was typed: JSON where it looks so, else a text. Undefined: it looks like JSON and is none. */
export const dataOf = (text: string): { readonly data: unknown } | undefined => {
  if (!/^\s*[[{"]/.test(text)) return { data: text.trim() }
  try {
    return { data: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const MEMBERS = ['type', 'data', 'containers', 'metadata', 'mask', 'expires_at']

/** The body of `POST /tokens`, or what is wrong by member. */
export const inputOf = (
  of: (name: string) => string,
): { readonly body: object } | { readonly wrong: Readonly<Record<string, string>> } => {
  const data = dataOf(of('data'))
  const metadata = parseMetadata(of('metadata'))
  const written = of('mask').trim()
  const mask = written.startsWith('{{') ? { data: written } : dataOf(written)
  if (data === undefined) return { wrong: { data: 'This is not valid JSON.' } }
  if (mask === undefined) return { wrong: { mask: 'This is not valid JSON.' } }
  if ('line' in metadata)
    return { wrong: { metadata: `Line ${metadata.line} is not of the form key: value.` } }
  const container = containerOf(of('containers'))
  return {
    body: {
      type: of('type'),
      ...data,
      ...(container === '' ? {} : { containers: [container] }),
      ...(Object.keys(metadata.metadata).length === 0 ? {} : metadata),
      ...(mask.data === '' ? {} : { mask: mask.data }),
      ...(of('expires_at') === '' ? {} : { expires_at: new Date(of('expires_at')).toISOString() }),
    },
  }
}

/** Asks for a token, creates it and opens its page. What is typed lives in the form's controls only. */
export const createToken = async ({ api, signal: within, navigate }: ScreenContext): Promise<void> => {
  const description = resource((signal) => api.call<Description>('GET', '/openapi.json', { signal }), within)
  const type = signal('card')
  const wrong = signal<Readonly<Record<string, string>>>({})
  const keys = once()
  let form: HTMLFormElement | undefined
  let done = (_id?: string) => {}
  const send = action(async () => {
    const controls = new FormData(form)
    const input = inputOf((name) => String(controls.get(name) ?? ''))
    wrong.value = 'wrong' in input ? input.wrong : {}
    if (!('body' in input)) return
    const { body } = input
    const { id } = await api.call<Token>('POST', '/tokens', { body, headers: keys.headers(body) })
    done(id)
  })
  const sentence = (member: string): string | undefined =>
    wrong.value[member] ??
    ([
      member,
      ...Object.keys(send.error.value?.issues ?? {}).filter((place) => place.startsWith(`${member}.`)),
    ]
      .map((place) => issue(send.error.value, place))
      .filter((text) => text !== undefined)
      .join('; ') ||
      undefined)

  const controls = (types: readonly TokenType[]): TemplateResult => {
    const chosen = types.find(({ name }) => name === type.value) ?? types[0]
    return html`<form
      @submit=${(event: SubmitEvent) => {
        form = event.currentTarget as HTMLFormElement
        void send.run(event)
      }}
    >
      ${field({
        label: 'Type',
        error: sentence('type'),
        control: html`<select
          name="type"
          @change=${(event: Event) => {
            type.value = (event.target as HTMLSelectElement).value
          }}
        >
          ${types.map(({ name }) => html`<option value=${name} ?selected=${name === chosen?.name}>${name}</option>`)}
        </select>`,
      })}
      ${field({
        label: 'Data',
        hint: chosen?.isJson ? 'JSON, or a text. It is stored encrypted.' : 'It is stored encrypted.',
        error: sentence('data'),
        control: html`<textarea
          name="data"
          rows="6"
          required
          autofocus
          autocomplete="off"
          spellcheck="false"
          placeholder=${chosen?.example ?? ''}
        ></textarea>`,
      })}
      ${field({
        label: 'Container',
        hint: "Decides whose rules apply. Empty: the type's own.",
        error: sentence('containers'),
        control: html`<input name="containers" placeholder="/customers/42/" spellcheck="false" autocapitalize="off" />`,
      })}
      ${field({
        label: 'Metadata',
        hint: 'One entry a line: key: value. It is stored in clear text: no sensitive data here.',
        error: sentence('metadata'),
        control: html`<textarea name="metadata" rows="2" spellcheck="false" placeholder="order: 1001"></textarea>`,
      })}
      <details>
        <summary>Mask and expiry</summary>
        ${field({
          label: 'Mask',
          hint: "An expression, or JSON with expressions. Empty: the type's own.",
          error: sentence('mask'),
          control: html`<input name="mask" placeholder=${'{{ data | reveal_last: 4 }}'} spellcheck="false" autocapitalize="off" />`,
        })}
        ${field({
          label: 'Expires',
          hint: 'In your time zone. Empty: never.',
          error: sentence('expires_at'),
          control: html`<input name="expires_at" type="datetime-local" />`,
        })}
      </details>
      ${formProblem(send.error.value, [...MEMBERS, ...Object.keys(send.error.value?.issues ?? {}).filter((place) => place.startsWith('data.'))])}
      <div class="buttons">
        <button type="button" @click=${() => done()}>Cancel</button>
        <button class="primary" ?disabled=${send.busy.value}>Create</button>
      </div>
    </form>`
  }

  const id = await dialog<string>({
    title: 'Create a token',
    body: (close) => {
      done = close
      return show(description, (found) => controls(typesOf(found)))
    },
  })
  if (id !== undefined) navigate(link`/tokens/${id}`)
}
