import type { Api } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import { guardField } from '../../kit/guard-modes.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { section } from '../../kit/section.ts'
import { signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { suggestContainers } from './containers.ts'
import {
  appendRule,
  DESTINATION_FIELDS,
  type DestinationDraft,
  type Draft,
  destinationDraft,
  moveRule,
  type RuleDraft,
} from './draft.ts'
import { type Editor, type Field, fieldsOf, issuesAt, placeIn, rowsEditor } from './fields.ts'
import type { PermissionInfo } from './types.ts'

const NAME: Field<Draft> = { member: 'name', label: 'Name', most: 200 }
const GUARD: Field<Draft> = { member: 'response_guard', ...guardField }
const ORIGINS: Field<Draft> = {
  member: 'allowed_origins',
  label: 'Allowed origins',
  hint: 'Origins of pages that may call with its keys and sessions, separated by commas.',
  placeholder: 'https://shop.example',
}

const RULE_FIELDS: readonly Field<RuleDraft>[] = [
  { member: 'description', label: 'Description', most: 1000 },
  { member: 'container', label: 'Container, with those below it', list: 'containers', most: 400 },
  {
    member: 'transform',
    label: 'Disclosure',
    choices: [
      ['redact', 'redact: no values'],
      ['mask', 'mask: masked values'],
      ['reveal', 'reveal: values'],
    ],
  },
]

/** A box for each permission that the type of the application allows, and for those that are held. */
const permissionBoxes = (
  known: readonly PermissionInfo[],
  { value: { permissions: held }, error, at, change }: Editor<{ permissions: readonly string[] }>,
): TemplateResult => {
  const others = held.filter((type) => known.every((info) => info.type !== type))
  const all = [
    ...known,
    ...others.map((type) => ({ type, description: 'Not allowed for this type of application' })),
  ]
  const wrong = issuesAt(error, placeIn(at, 'permissions')) ?? issuesAt(error, placeIn(at, 'priority'))
  const box = ({ type, description }: PermissionInfo) => {
    const toggle = ({ target }: Event) => {
      const rest = held.filter((permission) => permission !== type)
      change({ permissions: (target as HTMLInputElement).checked ? [...rest, type] : rest })
    }
    const note = type.startsWith('token:') || may(type) ? '' : '. Your key does not hold it'
    return html`<label class="box">
      <input type="checkbox" .checked=${live(held.includes(type))} @change=${toggle} />
      <span><code>${type}</code> <span class="soft small">${description}${note}</span></span>
    </label>`
  }
  // The heading of the section is the title of those of the application itself.
  return html`<fieldset class="boxes">
    <legend class=${at === '' ? 'visually-hidden' : 'small'}>Permissions</legend>
    ${all.map(box)} ${wrong === undefined ? nothing : html`<p class="issues">${wrong}</p>`}
  </fieldset>`
}

/** Hosts that values may be sent to, at most as many as the API stores (completions §14). */
const destinationsEditor = (owned: Editor<Pick<Draft, 'destinations'>>, owner: string): TemplateResult =>
  rowsEditor<DestinationDraft, 'destinations'>(owned, 'destinations', {
    owner: ` of ${owner}`,
    max: 20,
    none: 'Anywhere that egress allows.',
    add: (list) => [...list, destinationDraft()],
    view: (row, _, buttons) =>
      html`<div class="destination">${fieldsOf(DESTINATION_FIELDS, row)} ${buttons}</div>`,
  })

/** Rules in the order in which they are tried, at most as many as the API stores (completions §4). */
const rulesEditor = (form: Editor<Draft>, known: readonly PermissionInfo[]): TemplateResult =>
  rowsEditor<RuleDraft, 'rules'>(form, 'rules', {
    max: 100,
    none: 'No rules. The permissions above hold in all containers.',
    add: (rules) => appendRule(rules, known),
    move: moveRule,
    view: (row, number, buttons) => {
      const { priority, destinations, permissions } = row.value
      return html`<fieldset class="card rule">
        <legend>Rule ${number} <span class="soft small">priority ${priority}</span></legend>
        <div class="buttons">${buttons}</div>
        <div class="cards">${fieldsOf(RULE_FIELDS, row)}</div>
        ${permissionBoxes(known, row)}
        ${
          permissions.includes('token:use') || destinations.length > 0
            ? html`<details ?open=${destinations.length > 0}>
                <summary>Where <code>token:use</code> by this rule may send values (${destinations.length || 'anywhere'})</summary>
                ${destinationsEditor(row, `rule ${number}`)}
              </details>`
            : nothing
        }
      </fieldset>`
    },
  })

const part = (title: string, about: unknown, body: unknown): TemplateResult =>
  section(title.toLowerCase(), title, html`<p class="soft">${about}</p>${body}`)

/** Fields of a new and of a stored application. `known`: permissions that an application of its type may hold. */
export const applicationForm = (form: Editor<Draft>, known: readonly PermissionInfo[]): TemplateResult => {
  const boxes = permissionBoxes(known, form)
  return html`${fieldsOf([NAME], form)}
    ${
      form.value.type === 'management'
        ? part('Permissions', 'A management application sees no token.', boxes)
        : [
            part(
              'Permissions',
              html`They hold in all containers where no rule decides: <em>use</em> reveals to destinations, the others mask.`,
              boxes,
            ),
            part(
              'Rules',
              "The first rule that covers a token's container and grants the permission decides what is seen.",
              rulesEditor(form, known),
            ),
            part(
              'Destinations',
              html`Where <code>token:use</code> may send values. Each entry allows one host; lists are separated by commas.`,
              destinationsEditor(form, 'the application'),
            ),
            section('responses', 'Responses', html`${fieldsOf([GUARD], form)}`),
            form.value.type === 'public'
              ? section('pages', 'Pages', html`${fieldsOf([ORIGINS], form)}`)
              : nothing,
          ]
    }`
}

/**
 * Suggestions for containers. They are loaded when a field that has them gets the focus (`onFocus`), since the
 * comparison counts tokens; an error leaves the field without. `list` is the last element of the form.
 */
export const containerSuggestions = (api: Api, application: Application | undefined, within: AbortSignal) => {
  const found = signal<readonly string[] | undefined>(undefined)
  return {
    list: () => html`<datalist id="containers">
      ${found.value?.map((container) => html`<option value=${container}></option>`)}
    </datalist>`,
    onFocus: async ({ target }: Event) => {
      if (found.peek() !== undefined || !(target instanceof HTMLInputElement) || target.list === null) return
      found.value = []
      found.value = await suggestContainers(api, application, within).catch(() => [])
    },
  }
}
