import type { ApiError } from '../../api/client.ts'
import { field } from '../../kit/form.ts'
import { html, live, nothing, repeat, type TemplateResult } from '../../kit/html.ts'
import { type DestinationDraft, destinationDraft } from './draft.ts'
import { focus } from './focus.ts'
import { issuesAt } from './issues.ts'

type Text = Exclude<keyof DestinationDraft, 'key'>

const FIELDS: readonly (readonly [member: Text, label: string, placeholder: string])[] = [
  ['host', 'Host', 'api.example.com'],
  ['ports', 'Ports', '443'],
  ['methods', 'Methods', 'any'],
  ['path', 'Path', '/v1/**'],
  ['surfaces', 'Surfaces', 'any'],
]

/** Entries that a list may have (completions §14). */
const MOST = 20

export interface DestinationsEditor {
  readonly list: readonly DestinationDraft[]
  /** Of the list in the request: `destinations`. */
  readonly place: string
  /** Of what: `the application`. */
  readonly whose: string
  readonly error: ApiError | undefined
  change(list: readonly DestinationDraft[]): void
}

/** Hosts that values may be sent to: rows of texts, which the API judges. */
export const destinationsEditor = ({
  list,
  place,
  whose,
  error,
  change,
}: DestinationsEditor): TemplateResult => {
  const row = (entry: DestinationDraft, index: number) => html`<li class="destination">
    ${FIELDS.map(([member, label, placeholder]) =>
      field({
        label,
        error: issuesAt(error, `${place}[${index}].${member}`),
        control: html`<input
          id=${member === 'host' ? `destination-${entry.key}` : nothing}
          .value=${live(entry[member])}
          placeholder=${placeholder}
          autocomplete="off"
          autocapitalize="off"
          spellcheck="false"
          @input=${(event: Event) =>
            change(list.with(index, { ...entry, [member]: (event.target as HTMLInputElement).value }))}
        />`,
      }),
    )}
    <button
      type="button"
      class="plain"
      aria-label=${`Remove destination ${index + 1} of ${whose}`}
      @click=${() => {
        change(list.toSpliced(index, 1))
        focus(`add-${place}`)
      }}
    >
      Remove
    </button>
  </li>`
  const own = issuesAt(error, place)
  return html`
    ${
      list.length === 0
        ? html`<p class="soft">Anywhere that egress allows.</p>`
        : html`<ul class="destinations">${repeat(list, ({ key }) => key, row)}</ul>`
    }
    ${own === undefined ? nothing : html`<p class="error">${own}</p>`}
    ${
      list.length >= MOST
        ? nothing
        : html`<button
            type="button"
            id=${`add-${place}`}
            aria-label=${`Add a destination of ${whose}`}
            @click=${() => {
              const entry = destinationDraft()
              change([...list, entry])
              focus(`destination-${entry.key}`)
            }}
          >
            Add a destination
          </button>`
    }
  `
}
