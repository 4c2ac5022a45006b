import { html, live, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { batch, type Signal, signal } from '../../kit/signals.ts'
import type { Reading } from './reading.ts'
import { applySuggestion, FIELDS, type KnownValues, type Suggestion, suggest } from './suggest.ts'

interface SearchBoxOptions {
  readonly knownValues: () => KnownValues
  /** Called with what was typed when the user submits it. */
  readonly search: (typed: string) => void
  /** How the last search was read; shown below the box if it was not typed in the language. */
  readonly reading: Signal<Reading>
}

interface SearchBox {
  /** `error`: what the API says about the query that was searched for. */
  view(error: string | undefined): TemplateResult
  set(text: string): void
  focus(): void
}

/** A box that suggests, at the caret, what the search language knows (ARIA: combobox with a listbox). */
export const createSearchBox = ({ knownValues, search, reading }: SearchBoxOptions): SearchBox => {
  const text = signal('')
  const caret = signal(0)
  const isOpen = signal(false)
  const active = signal(-1)
  let input: HTMLInputElement | undefined

  const suggestions = () => (isOpen.value ? suggest(text.value, caret.value, knownValues()) : undefined)
  const read = (open: boolean) =>
    batch(() => {
      text.value = input?.value ?? ''
      caret.value = input?.selectionStart ?? text.value.length
      isOpen.value = open
      active.value = -1
    })
  const close = () => {
    isOpen.value = false
  }
  const accept = (suggestion: Suggestion) => {
    const place = suggestions()
    if (place === undefined || input === undefined) return
    const next = applySuggestion(text.value, place, suggestion)
    input.value = next.text
    input.setSelectionRange(next.caret, next.caret)
    input.focus()
    read(true)
  }

  const onKey = (event: KeyboardEvent) => {
    const options = suggestions()?.options ?? []
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen.value) read(true)
      else if (options.length > 0) {
        const step = event.key === 'ArrowDown' ? 1 : -1
        active.value = (Math.max(active.value, step < 0 ? 0 : -1) + step + options.length) % options.length
      }
    } else if (event.key === 'Escape' && isOpen.value && options.length > 0) {
      event.preventDefault()
      close()
    } else if (event.key === 'Enter') {
      const option = options[active.value]
      if (option === undefined) return
      event.preventDefault()
      accept(option)
    }
  }

  const edit = () => {
    const { query } = reading.peek()
    batch(() => {
      text.value = query
      reading.value = { query, texts: [] }
    })
    input?.focus()
  }

  const view = (error: string | undefined): TemplateResult => {
    const options = suggestions()?.options ?? []
    const isShown = options.length > 0
    const { query, words } = reading.value
    return html`<form
      role="search"
      class="search"
      @submit=${(event: Event) => {
        event.preventDefault()
        close()
        search(input?.value ?? '')
      }}
    >
      <div class="field combobox">
        <label>
          <span>Search</span>
          <input
            ${ref((element) => {
              input = element instanceof HTMLInputElement ? element : undefined
            })}
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
            @input=${() => read(true)}
            @click=${() => read(isOpen.value)}
            @keydown=${onKey}
            @blur=${close}
          />
        </label>
        ${
          isShown
            ? html`<ul role="listbox" id="search-suggestions" aria-label="Suggestions">
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
            : nothing
        }
      </div>
      <button class="primary">Search</button>
      ${error === undefined ? nothing : html`<p class="error" id="search-error" role="alert">${error}</p>`}
      <div class="buttons">
        <p class="small" role="status">
          ${words === undefined ? nothing : html`Read as: ${words} — <code>${query}</code>`}
        </p>
        ${words === undefined ? nothing : html`<button type="button" @click=${edit}>Edit as a query</button>`}
      </div>
    </form>`
  }

  return {
    view,
    set: (typed) => {
      text.value = typed
    },
    focus: () => input?.focus(),
  }
}

/** The language on one page. */
export const languageHelp = (): TemplateResult => html`<details class="language">
  <summary>Search language</summary>
  <p>
    Text without a field is an id, or equal to data or metadata; <code>Ada*</code> also finds what begins with it. Join
    terms with <code>AND</code>, <code>OR</code>, <code>NOT</code> and parentheses, and quote values with blanks.
    <a href="/docs/console#search-tokens" target="_blank" rel="noopener">All of the language</a>
  </p>
  <dl class="terms">
    ${FIELDS.map(
      ([field, hint, example]) =>
        html`<dt><code>${field}</code></dt><dd>${hint} <code>${example}</code></dd>`,
    )}
  </dl>
</details>`
