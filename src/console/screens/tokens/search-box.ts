import { createRef, html, live, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { batch, type Signal, signal } from '../../kit/signals.ts'
import { FIELDS, type KnownValues, type Suggestion, suggest } from './language.ts'
import type { Reading } from './reading.ts'

/** The language on one page. */
const help = html`<details class="language">
  <summary>Search language</summary>
  <p>
    Text without a field is an id, or equal to data or metadata; <code>Ada*</code> also finds what begins with it. Join
    terms with <code>AND</code>, <code>OR</code>, <code>NOT</code> and parentheses, and quote values with blanks.
    <a href="/docs/console#search-tokens" target="_blank" rel="noopener">All of the language</a>
  </p>
  <dl class="terms">
    ${FIELDS.map(([field, hint, example]) => html`<dt><code>${field}</code></dt><dd>${hint} <code>${example}</code></dd>`)}
  </dl>
</details>`

/**
 * A box that suggests, at the caret, what the search language knows (ARIA: combobox with a listbox). `search` gets what
 * was submitted. `reading`: how the last search was read, shown below the box if it was not typed in the language.
 */
export const createSearchBox = (
  knownValues: () => KnownValues,
  search: (typed: string) => void,
  reading: Signal<Reading>,
) => {
  const text = signal('')
  /** Place of the caret while there are suggestions; else undefined. */
  const caret = signal<number | undefined>(undefined)
  const active = signal(-1)
  const input = createRef<HTMLInputElement>()

  const suggestions = () => (caret.value === undefined ? [] : suggest(text.value, caret.value, knownValues()))
  const open = () =>
    batch(() => {
      text.value = input.value?.value ?? ''
      caret.value = input.value?.selectionStart ?? text.value.length
      active.value = -1
    })
  const close = () => {
    caret.value = undefined
  }
  const accept = (suggestion: Suggestion) => {
    const box = input.value
    if (box === undefined) return
    box.value = suggestion.text
    box.setSelectionRange(suggestion.caret, suggestion.caret)
    box.focus()
    open()
  }
  const move = (step: number, count: number) => {
    if (caret.peek() === undefined) open()
    else if (count > 0) active.value = (Math.max(active.peek(), step < 0 ? 0 : -1) + step + count) % count
  }
  const onKey = (event: KeyboardEvent) => {
    const options = suggestions()
    const option = options[active.peek()]
    if (event.key === 'ArrowDown') move(1, options.length)
    else if (event.key === 'ArrowUp') move(-1, options.length)
    else if (event.key === 'Escape' && options.length > 0) close()
    else if (event.key === 'Enter' && option !== undefined) accept(option)
    else return
    event.preventDefault()
  }
  const submit = (event: Event) => {
    event.preventDefault()
    close()
    search(input.value?.value ?? '')
  }
  const edit = () => {
    const { query } = reading.peek()
    batch(() => {
      text.value = query
      reading.value = { query, texts: [] }
    })
    input.value?.focus()
  }

  const listbox = (options: readonly Suggestion[]) => html`<ul
    role="listbox"
    id="search-suggestions"
    aria-label="Suggestions"
  >
    ${options.map(
      (option, index) => html`<li
        role="option"
        id=${`search-suggestion-${index}`}
        aria-selected=${String(index === active.value)}
        @pointerdown=${(event: Event) => {
          event.preventDefault()
          accept(option)
        }}
      >
        <code>${option.insert}</code> <span class="soft">${option.hint}</span>
      </li>`,
    )}
  </ul>`

  /** `error`: what the API says about the query that was searched for. */
  const view = (error: string | undefined): TemplateResult => {
    const options = suggestions()
    const isShown = options.length > 0
    const { query, words } = reading.value
    return html`<form role="search" class="search" @submit=${submit}>
        <div class="field combobox">
          <label>
            <span>Search</span>
            <input
              ${ref(input)}
              type="search"
              role="combobox"
              autocomplete="off"
              autocapitalize="off"
              spellcheck="false"
              maxlength="4000"
              placeholder="4242, a name, an id, customer:1003, type:card"
              aria-autocomplete="list"
              aria-expanded=${String(isShown)}
              aria-controls=${isShown ? 'search-suggestions' : nothing}
              aria-activedescendant=${isShown && active.value >= 0 ? `search-suggestion-${active.value}` : nothing}
              aria-invalid=${String(error !== undefined)}
              aria-describedby=${error === undefined ? nothing : 'search-error'}
              .value=${live(text.value)}
              @input=${open}
              @click=${() => caret.peek() !== undefined && open()}
              @keydown=${onKey}
              @blur=${close}
            />
          </label>
          ${isShown ? listbox(options) : nothing}
        </div>
        <button class="primary">Search</button>
        ${error === undefined ? nothing : html`<p class="error" id="search-error" role="alert">${error}</p>`}
        <div class="buttons">
          <p class="small" role="status">
            ${words === undefined ? nothing : html`Read as: ${words} — <code>${query}</code>`}
          </p>
          ${words === undefined ? nothing : html`<button type="button" @click=${edit}>Edit as a query</button>`}
        </div>
      </form>
      ${help}`
  }
  return {
    view,
    set: (typed: string) => {
      text.value = typed
    },
    focus: () => input.value?.focus(),
  }
}
