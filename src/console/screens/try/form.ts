import { headerPrefix } from '../../api/prefix.ts'
import { choiceField, field, select } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type ReadonlySignal, type Signal, signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import type { StoredProxy } from '../proxies/types.ts'
import { type Draft, FIELDS, type FieldName } from './call.ts'
import type { DraftCode } from './code.ts'
import { placeOf } from './place.ts'
import { pickToken } from './token-picker.ts'

interface FormState {
  readonly draft: Signal<Draft>
  readonly proxies: ReadonlySignal<readonly StoredProxy[]>
  readonly proxy: ReadonlySignal<StoredProxy | undefined>
  readonly code: DraftCode
  /** Sentences by field; empty until the form was submitted once. */
  readonly issues: ReadonlySignal<Partial<Draft>>
}

type Control = HTMLTextAreaElement | HTMLInputElement

/** The fields of a call, and the button that inserts a token. */
export const callFields = (
  context: ScreenContext,
  { draft, proxies, proxy, code, issues }: FormState,
): (() => TemplateResult) => {
  /** Why no expression may stand at the caret; `''`: one may, or none was inserted. */
  const reason = signal('')
  /** Where the caret was last. */
  let target: Control | undefined

  const change = ({ name, value }: Control) => {
    if (!(name in FIELDS)) return
    draft.value = { ...draft.peek(), [name]: value }
    reason.value = ''
  }
  const onFocus = ({ target: control }: Event) => {
    if (control instanceof HTMLElement && control.matches('.try-line input, textarea[name]'))
      target = control as Control
  }

  /** Inserts a token at the caret, or in the first empty string of the body; where none may stand, it says why. */
  const insert = async () => {
    const control = target?.isConnected ? target : document.querySelector<Control>('textarea[name="body"]')
    if (control === null) return
    const { name, value, selectionStart, selectionEnd } = control
    const empty = control === target ? null : /:\s*"(?=")/.exec(value)
    const from = empty === null ? (selectionStart ?? 0) : empty.index + empty[0].length
    const to = empty === null ? (selectionEnd ?? 0) : from
    const place = placeOf(
      name as FieldName,
      { before: value.slice(0, from), selected: value.slice(from, to), after: value.slice(to) },
      { draft: draft.peek(), proxy: proxy.peek(), prefix: headerPrefix() },
    )
    reason.value = typeof place === 'string' ? place : ''
    if (typeof place === 'string') return
    const text = await pickToken(context, place)
    if (text === undefined || !control.isConnected) return
    control.setRangeText(text, from, to, 'end')
    change(control)
    control.focus()
  }

  const fieldOf = (name: FieldName): TemplateResult => {
    const { choices, rows, placeholder = '', ...declared } = FIELDS[name]
    const value = draft.value[name]
    return field({
      ...declared,
      error: issues.value[name],
      control:
        choices !== undefined
          ? select({ name, value, choices: choices.map((choice) => [choice, choice]) })
          : rows === undefined
            ? html`<input name=${name} placeholder=${placeholder} .value=${live(value)} />`
            : html`<textarea class="code" name=${name} rows=${rows} wrap="off" .value=${live(value)}></textarea>`,
    })
  }
  const proxyField = (): TemplateResult =>
    choiceField({
      label: 'Through',
      value: proxy.value?.id ?? '',
      choices: [['', 'a destination URL'], ...proxies.value.map(({ id, name }) => [id, name] as const)],
      set: (id) => context.setFilters({ proxy: id }),
    })

  return () => {
    const stored = proxy.value
    const transformsResponse =
      stored?.response_transform !== undefined || code.json().includes('"response_transform":"')
    return html`<div
      class="try-fields"
      @input=${({ target }: Event) => change(target as Control)}
      @focusin=${onFocus}
    >
      <div class="try-line">
        ${fieldOf('method')} ${may('proxy:read') ? proxyField() : fieldOf('proxyKey')}
        ${draft.value.proxyKey === '' ? fieldOf('url') : nothing} ${fieldOf('path')}
      </div>
      ${
        stored &&
        html`<p class="small soft">
          Destination <code>${stored.destination_url}</code>.
          <a href=${link`/proxies/${stored.id}`}>Open the proxy</a>
        </p>`
      }
      ${fieldOf('headers')} ${fieldOf('body')} ${stored && transformsResponse ? fieldOf('response') : nothing}
      ${code.view(issues.value.code)}
      ${
        may('token:read') || may('token:search')
          ? html`<div class="buttons">
              <button
                type="button"
                @mousedown=${(event: Event) => event.preventDefault()}
                @click=${() => void insert()}
              >
                Insert a token …
              </button>
              <p role="status" class=${reason.value === '' ? '' : 'warning'}>${reason.value}</p>
            </div>`
          : nothing
      }
    </div>`
  }
}
