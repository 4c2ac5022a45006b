import type { ApiError } from '../../api/client.ts'
import type { Disclosure } from '../../api/types.ts'
import { choiceField } from '../../kit/form.ts'
import { html, nothing, repeat, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import { notice } from '../../kit/notice.ts'
import { destinationsEditor } from './destinations-editor.ts'
import { appendRule, moveRule, type RuleDraft } from './draft.ts'
import { focus, issuesAt, permissionBoxes, textField } from './fields.ts'
import type { PermissionInfo } from './types.ts'

/** Rules that an application may have (completions §4). */
const MAX_RULES = 100

const LEVELS: readonly (readonly [Disclosure, string])[] = [
  ['redact', 'redact: no values'],
  ['mask', 'mask: masked values'],
  ['reveal', 'reveal: values'],
]

type Way = 'up' | 'down'

interface RulesEditor {
  readonly rules: readonly RuleDraft[]
  readonly permissions: readonly PermissionInfo[]
  readonly error: ApiError | undefined
  change(rules: readonly RuleDraft[]): void
}

/** Rules in the order in which they are tried. */
export const rulesEditor = ({ rules, permissions, error, change }: RulesEditor): TemplateResult => {
  const move = (index: number, to: Way) => {
    const { key } = rules[index] as RuleDraft
    const by = to === 'up' ? -1 : 1
    change(moveRule(rules, index, by))
    focus(`rule-${key}-${to}`, `rule-${key}-${to === 'up' ? 'down' : 'up'}`)
    notice('info', `Rule moved to place ${index + by + 1} of ${rules.length}.`)
  }
  const mover = ({ key }: RuleDraft, index: number, to: Way) => html`<button
    type="button"
    id=${`rule-${key}-${to}`}
    aria-label=${`Move rule ${index + 1} ${to}`}
    ?disabled=${index === (to === 'up' ? 0 : rules.length - 1)}
    @click=${() => move(index, to)}
  >
    ${icon(to)}
  </button>`
  const remove = (index: number) => {
    const rest = rules.toSpliced(index, 1)
    change(rest)
    const next = rest[Math.min(index, rest.length - 1)]
    focus(next === undefined ? 'add-rule' : `rule-${next.key}-description`, 'add-rule')
    notice('info', `Rule ${index + 1} removed.`)
  }
  const add = () => {
    const all = appendRule(rules, permissions)
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
          ${mover(rule, index, 'up')} ${mover(rule, index, 'down')}
          <button type="button" aria-label=${`Remove rule ${number}`} @click=${() => remove(index)}>Remove</button>
        </div>
        <div class="rule-fields">
          ${textField({
            label: 'Description',
            id: `rule-${rule.key}-description`,
            most: 1000,
            value: rule.description,
            error: issuesAt(error, `${at}.description`),
            set: (description) => set({ description }),
          })}
          ${textField({
            label: 'Container, with those below it',
            list: 'containers',
            most: 400,
            value: rule.container,
            error: issuesAt(error, `${at}.container`),
            set: (container) => set({ container }),
          })}
          ${choiceField({
            label: 'Disclosure',
            choices: LEVELS,
            value: rule.transform,
            error: issuesAt(error, `${at}.transform`),
            set: (transform) => set({ transform }),
          })}
        </div>
        ${permissionBoxes({
          isTitled: true,
          available: permissions,
          granted: rule.permissions,
          error: issuesAt(error, `${at}.permissions`) ?? issuesAt(error, `${at}.priority`),
          set: (next) => set({ permissions: next }),
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
                  set: (destinations) => set({ destinations }),
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
      rules.length >= MAX_RULES
        ? html`<p class="soft">${MAX_RULES} rules are the most.</p>`
        : html`<button type="button" id="add-rule" @click=${add}>Add a rule</button>`
    }
  `
}
