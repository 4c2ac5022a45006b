import type { ApiError } from '../../api/client.ts'
import { html, nothing, repeat, type TemplateResult } from '../../kit/html.ts'
import { type DestinationDraft, destinationDraft } from './draft.ts'
import { focus, issuesAt, textField } from './fields.ts'

type Text = Exclude<keyof DestinationDraft, 'key'>

const FIELDS: readonly (readonly [member: Text, label: string, placeholder: string])[] = [
  ['host', 'Host', 'api.example.com'],
  ['ports', 'Ports', '443'],
  ['methods', 'Methods', 'any'],
  ['path', 'Path', '/v1/**'],
  ['surfaces', 'Surfaces', 'any'],
]

/** Entries that a list may have (completions §14). */
const MAX_DESTINATIONS = 20

interface DestinationsEditor {
  readonly list: readonly DestinationDraft[]
  /** Path of the list in the request, for issues: `destinations`. */
  readonly place: string
  /** Owner of the list, for labels: `the application`. */
  readonly whose: string
  readonly error: ApiError | undefined
  set(list: readonly DestinationDraft[]): void
}

/** Hosts that values may be sent to: rows of texts, which the API judges. */
export const destinationsEditor = ({
  list,
  place,
  whose,
  error,
  set,
}: DestinationsEditor): TemplateResult => {
  const hostOf = ({ key }: DestinationDraft) => `destination-${key}`
  const addId = `add-${place}`
  const add = () => {
    const entry = destinationDraft()
    set([...list, entry])
    focus(hostOf(entry))
  }
  const remove = (index: number) => {
    set(list.toSpliced(index, 1))
    focus(addId)
  }
  const row = (entry: DestinationDraft, index: number) => html`<li class="destination">
    ${FIELDS.map(([member, label, placeholder]) =>
      textField({
        label,
        placeholder,
        value: entry[member],
        error: issuesAt(error, `${place}[${index}].${member}`),
        id: member === 'host' ? hostOf(entry) : undefined,
        set: (value) => set(list.with(index, { ...entry, [member]: value })),
      }),
    )}
    <button
      type="button"
      class="plain"
      aria-label=${`Remove destination ${index + 1} of ${whose}`}
      @click=${() => remove(index)}
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
      list.length >= MAX_DESTINATIONS
        ? nothing
        : html`<button type="button" id=${addId} aria-label=${`Add a destination of ${whose}`} @click=${add}>
            Add a destination
          </button>`
    }
  `
}
