import { guardField } from '../../kit/guard-modes.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { section } from '../../kit/section.ts'
import { may } from '../../session.ts'
import {
  appendRule,
  DESTINATION_FIELDS,
  type Draft,
  destinationDraft,
  moveRule,
  type RuleDraft,
} from './draft.ts'
import { type Editor, type Field, fieldsOf, issuesAt, permissionBoxes } from './fields.ts'
import { rowsEditor } from './rows.ts'
import type { PermissionInfo } from './types.ts'

/** Rules that an application may have (completions §4). */
const MAX_RULES = 100

/** Entries that a list may have (completions §14). */
const MAX_DESTINATIONS = 20

const NAME: Field<Draft> = { member: 'name', label: 'Name', most: 200 }
const GUARD: Field<Draft> = { member: 'response_guard', ...guardField }

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

/** Hosts that values may be sent to. */
const destinationsEditor = (
  { value: { destinations }, error, at = '', change }: Editor<Pick<Draft, 'destinations'>>,
  whose: string,
): TemplateResult => {
  const place = `${at}destinations`
  const wrong = issuesAt(error, place)
  return html`
    ${wrong === undefined ? nothing : html`<p class="issues">${wrong}</p>`}
    ${rowsEditor({
      rows: destinations,
      place,
      noun: 'destination',
      owner: ` of ${whose}`,
      max: MAX_DESTINATIONS,
      none: 'Anywhere that egress allows.',
      error,
      add: () => [...destinations, destinationDraft()],
      set: (list) => change({ destinations: list }),
      view: (row, _, buttons) =>
        html`<div class="destination">${fieldsOf(DESTINATION_FIELDS, row)} ${buttons}</div>`,
    })}
  `
}

/** Rules in the order in which they are tried. */
const rulesEditor = (
  { value: { rules }, error, change }: Editor<Draft>,
  permissions: readonly PermissionInfo[],
): TemplateResult =>
  rowsEditor({
    rows: rules,
    place: 'rules',
    noun: 'rule',
    max: MAX_RULES,
    none: 'No rules. The permissions above hold in all containers.',
    error,
    add: () => appendRule(rules, permissions),
    move: (index, by) => moveRule(rules, index, by),
    set: (list) => change({ rules: list }),
    view: (row, number, buttons) => {
      const { priority, destinations, permissions: granted } = row.value
      return html`<fieldset class="card rule">
        <legend>Rule ${number} <span class="soft small">priority ${priority}</span></legend>
        <div class="buttons">${buttons}</div>
        <div class="rule-fields">${fieldsOf(RULE_FIELDS, row)}</div>
        ${permissionBoxes(permissions, row)}
        ${
          granted.includes('token:use') || destinations.length > 0
            ? html`<details ?open=${destinations.length > 0}>
                <summary>Where <code>token:use</code> by this rule may send values (${destinations.length || 'anywhere'})</summary>
                ${destinationsEditor(row, `rule ${number}`)}
              </details>`
            : nothing
        }
      </fieldset>`
    },
  })

/** Fields of a new and of a stored application. `permissions`: those that an application of its type may hold. */
export const applicationForm = (
  form: Editor<Draft>,
  permissions: readonly PermissionInfo[],
): TemplateResult => {
  const isManagement = form.value.type === 'management'
  const note = (type: string) => (isManagement && !may(type) ? '. Your key does not hold it' : '')
  return html`
    ${fieldsOf([NAME], form)}
    ${section(
      'permissions',
      'Permissions',
      html`<p class="soft">
          ${
            isManagement
              ? 'A management application sees no token.'
              : html`They hold in all containers where no rule decides: <em>use</em> reveals to destinations, the others mask.`
          }
        </p>
        ${permissionBoxes(permissions, form, { isTitled: false, note })}`,
    )}
    ${
      isManagement
        ? nothing
        : html`${section(
            'rules',
            'Rules',
            html`<p class="soft">
                The first rule that covers a token's container and grants the permission decides what is seen.
              </p>
              ${rulesEditor(form, permissions)}`,
          )}
          ${section(
            'destinations',
            'Destinations',
            html`<p class="soft">Where <code>token:use</code> may send values. Each entry allows one host; lists are separated by commas.</p>
              ${destinationsEditor(form, 'the application')}`,
          )}
          ${section('responses', 'Responses', html`${fieldsOf([GUARD], form)}`)}`
    }
  `
}
