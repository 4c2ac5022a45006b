import type { ApiError } from '../../api/client.ts'
import { field } from '../../kit/form.ts'
import { html, live, nothing, repeat, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { destinationsEditor } from './destinations-editor.ts'
import { type RuleDraft, withMoved, withRule } from './draft.ts'
import { focus } from './focus.ts'
import { issuesAt } from './issues.ts'
import { permissionBoxes } from './permission-boxes.ts'
import type { Disclosure, PermissionInfo } from './types.ts'

/** Rules that an application may have (completions §4). */
const MOST = 100

const LEVELS: readonly (readonly [Disclosure, string])[] = [
  ['redact', 'redact: no values'],
  ['mask', 'mask: masked values'],
  ['reveal', 'reveal: values'],
]

export interface RulesEditor {
  readonly rules: readonly RuleDraft[]
  readonly permissions: readonly PermissionInfo[]
  readonly error: ApiError | undefined
  change(rules: readonly RuleDraft[]): void
}

/** Rules in the order in which they are tried. */
export const rulesEditor = ({ rules, permissions, error, change }: RulesEditor): TemplateResult => {
  const move = (index: number, by: -1 | 1) => {
    const { key } = rules[index] as RuleDraft
    change(withMoved(rules, index, by))
    focus(`rule-${key}-${by < 0 ? 'up' : 'down'}`, `rule-${key}-${by < 0 ? 'down' : 'up'}`)
    notice('info', `Rule moved to place ${index + by + 1} of ${rules.length}.`)
  }
  const remove = (index: number) => {
    const rest = rules.toSpliced(index, 1)
    change(rest)
    const next = rest[Math.min(index, rest.length - 1)]
    focus(next === undefined ? 'add-rule' : `rule-${next.key}-description`, 'add-rule')
    notice('info', `Rule ${index + 1} removed.`)
  }
  const add = () => {
    const all = withRule(rules, permissions)
    change(all)
    focus(`rule-${all.at(-1)?.key}-description`)
  }

  const row = (rule: RuleDraft, index: number) => {
    const at = `rules[${index}]`
    const set = (part: Partial<RuleDraft>) => change(rules.with(index, { ...rule, ...part }))
    const number = index + 1
    return html`<li>
      <fieldset class="rule">
        <legend>Rule ${number} <span class="soft small">priority ${rule.priority}</span></legend>
        <div class="rule-buttons">
          <button
            type="button"
            id=${`rule-${rule.key}-up`}
            aria-label=${`Move rule ${number} up`}
            ?disabled=${index === 0}
            @click=${() => move(index, -1)}
          >
            ↑
          </button>
          <button
            type="button"
            id=${`rule-${rule.key}-down`}
            aria-label=${`Move rule ${number} down`}
            ?disabled=${index === rules.length - 1}
            @click=${() => move(index, 1)}
          >
            ↓
          </button>
          <button type="button" aria-label=${`Remove rule ${number}`} @click=${() => remove(index)}>Remove</button>
        </div>
        <div class="rule-fields">
          ${field({
            label: 'Description',
            error: issuesAt(error, `${at}.description`),
            control: html`<input
              id=${`rule-${rule.key}-description`}
              maxlength="1000"
              .value=${live(rule.description)}
              @input=${(event: Event) => set({ description: (event.target as HTMLInputElement).value })}
            />`,
          })}
          ${field({
            label: 'Container, with those below it',
            error: issuesAt(error, `${at}.container`),
            control: html`<input
              list="containers"
              maxlength="400"
              autocomplete="off"
              autocapitalize="off"
              spellcheck="false"
              .value=${live(rule.container)}
              @input=${(event: Event) => set({ container: (event.target as HTMLInputElement).value })}
            />`,
          })}
          ${field({
            label: 'Disclosure',
            error: issuesAt(error, `${at}.transform`),
            control: html`<select
              .value=${live(rule.transform)}
              @change=${(event: Event) => set({ transform: (event.target as HTMLSelectElement).value as Disclosure })}
            >
              ${LEVELS.map(
                ([level, label]) =>
                  html`<option value=${level} ?selected=${level === rule.transform}>${label}</option>`,
              )}
            </select>`,
          })}
        </div>
        ${permissionBoxes({
          legend: 'Permissions',
          isTitled: true,
          known: permissions,
          held: rule.permissions,
          error: issuesAt(error, `${at}.permissions`) ?? issuesAt(error, `${at}.priority`),
          change: (next) => set({ permissions: next }),
        })}
        ${
          rule.permissions.includes('token:use') || rule.destinations.length > 0
            ? html`<details ?open=${rule.destinations.length > 0}>
                <summary>Where <code>token:use</code> by this rule may send values (${rule.destinations.length || 'anywhere'})</summary>
                ${destinationsEditor({
                  list: rule.destinations,
                  place: `${at}.destinations`,
                  whose: `rule ${number}`,
                  error,
                  change: (destinations) => set({ destinations }),
                })}
              </details>`
            : nothing
        }
      </fieldset>
    </li>`
  }

  return html`
    ${
      rules.length === 0
        ? html`<p class="soft">No rules. The permissions above hold in all containers.</p>`
        : html`<ol class="rules">${repeat(rules, ({ key }) => key, row)}</ol>`
    }
    ${
      rules.length >= MOST
        ? html`<p class="soft">${MOST} rules are the most.</p>`
        : html`<button type="button" id="add-rule" @click=${add}>Add a rule</button>`
    }
  `
}
