import { headerPrefix } from '../../api/prefix.ts'
import { choiceField, field } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import type { ReadonlySignal, Signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import type { StoredProxy } from '../proxies/types.ts'
import { type Draft, METHODS } from './call.ts'
import type { DraftCode } from './code.ts'
import { placeOf } from './place.ts'
import { pickToken } from './token-picker.ts'

export interface FormState {
  readonly draft: Signal<Draft>
  readonly proxies: ReadonlySignal<readonly StoredProxy[]>
  readonly proxy: ReadonlySignal<StoredProxy | undefined>
  readonly code: DraftCode
  /** Sentences by field; empty until the form was submitted once. */
  readonly issues: ReadonlySignal<Readonly<Partial<Record<keyof Draft, string>>>>
  /** Why no expression may stand at the caret; `''`: one may, or none was inserted. */
  readonly reason: Signal<string>
  /** Chooses a stored proxy by its id; `''`: none. */
  choose(id: string): void
}

type Area = HTMLTextAreaElement | HTMLInputElement

/** Where the caret was last, in which field. */
let target: Area | undefined

/** Inserts a token at the caret, or in the first empty string of the body; where none may stand, it says why. */
const insert = async (
  context: ScreenContext,
  { draft, proxy, reason }: FormState,
  change: (name: keyof Draft, value: string) => void,
) => {
  const area = target?.isConnected ? target : document.querySelector<Area>('textarea[name="body"]')
  if (area === null) return
  const { value } = area
  const empty = area === target ? null : /:\s*"(?=")/.exec(value)
  const [from, to] =
    empty === null
      ? [area.selectionStart ?? 0, area.selectionEnd ?? 0]
      : [empty.index + empty[0].length, empty.index + empty[0].length]
  const name = area.name as keyof Draft
  const caret = { before: value.slice(0, from), selected: value.slice(from, to), after: value.slice(to) }
  const place = placeOf(name, caret, { draft: draft.peek(), proxy: proxy.peek(), prefix: headerPrefix() })
  reason.value = typeof place === 'string' ? place : ''
  if (typeof place === 'string') return
  const text = await pickToken(context, place)
  if (text === undefined || !area.isConnected) return
  area.setRangeText(text, from, to, 'end')
  change(name, area.value)
  area.focus()
}

/** The fields of a call. */
export const formFields = (context: ScreenContext, state: FormState): TemplateResult => {
  const { draft, proxies, proxy, issues, reason } = state
  const { method, url, proxyKey, path, headers, body, response } = draft.value
  const change = (name: keyof Draft, value: string) => {
    draft.value = { ...draft.peek(), [name]: value }
    reason.value = ''
  }
  const onInput = (event: Event) => {
    const { name, value } = event.target as Area
    change(name as keyof Draft, value)
  }
  const onFocus = (event: Event) => {
    target = event.target as Area
  }
  const error = (name: keyof Draft) => issues.value[name]
  const input = (name: keyof Draft, value: string, placeholder = '') => html`<input
    name=${name}
    autocomplete="off"
    spellcheck="false"
    autocapitalize="off"
    placeholder=${placeholder}
    .value=${live(value)}
    @input=${onInput}
    @focus=${onFocus}
  />`
  const area = (name: keyof Draft, value: string, rows: number) => html`<textarea
    class="code-text"
    name=${name}
    rows=${rows}
    wrap="off"
    autocomplete="off"
    spellcheck="false"
    autocapitalize="off"
    .value=${live(value)}
    @input=${onInput}
    @focus=${onFocus}
  ></textarea>`
  return html`<div class="try-line">
      ${choiceField({
        label: 'Method',
        value: method,
        choices: METHODS.map((method) => [method, method]),
        set: (method) => change('method', method),
      })}
      ${
        may('proxy:read')
          ? choiceField({
              label: 'Through',
              value: proxy.value?.id ?? '',
              choices: [
                ['', 'a destination URL'],
                ...proxies.value.map(({ id, name }) => [id, name] as const),
              ],
              set: state.choose,
            })
          : field({
              label: 'Proxy key',
              hint: 'Key of a stored proxy. Leave empty to name a destination URL.',
              control: input('proxyKey', proxyKey),
            })
      }
      ${
        proxyKey === ''
          ? field({
              label: 'Destination URL',
              error: error('url'),
              control: input('url', url, 'https://api.example.com/v1'),
            })
          : nothing
      }
      ${field({ label: 'Path and query', error: error('path'), control: input('path', path, '/charges?expand=all') })}
    </div>
    ${
      proxy.value === undefined
        ? nothing
        : html`<p class="small soft">
            Destination <code>${proxy.value.destination_url}</code>.
            <a href=${link`/proxies/${proxy.value.id}`}>Open the proxy</a>
          </p>`
    }
    ${field({ label: 'Headers', hint: 'One "name: value" a line.', error: error('headers'), control: area('headers', headers, 2) })}
    ${field({ label: 'Body', hint: 'JSON, unless the headers have another content-type.', control: area('body', body, 7) })}
    ${
      proxy.value === undefined ||
      (proxy.value.response_transform === undefined && !state.code.json().includes('"response_transform":"'))
        ? nothing
        : field({
            label: 'Response for the dry run',
            hint: 'A dry run gets no response. The response transform runs on this one.',
            error: error('response'),
            control: area('response', response, 3),
          })
    }
    ${state.code.view()}
    ${error('code') === undefined ? nothing : html`<p class="error">${error('code')}</p>`}
    ${
      may('token:read') || may('token:search')
        ? html`<div class="buttons">
              <button
                type="button"
                @mousedown=${(event: Event) => event.preventDefault()}
                @click=${() => void insert(context, state, change)}
              >
                Insert a token …
              </button>
              <p role="status" class=${reason.value === '' ? '' : 'warning'}>${reason.value}</p>
            </div>`
        : nothing
    }`
}
