import type { AppliedRule } from '../common/request-ring.ts'
import type { Decisions, Grants, TokenPermission } from '../sdk/index.ts'
import { decidingRule, decisionOf, type Located } from './rules.ts'

/** Distinct ones of a call that are retained. */
const MAX_RULES = 5

type Entry = { -readonly [Member in keyof AppliedRule]: AppliedRule[Member] }

const isSame = (a: Entry, b: Entry): boolean =>
  a.permission === b.permission &&
  a.disclosure === b.disclosure &&
  a.priority === b.priority &&
  a.container === b.container &&
  a.description === b.description

/** The rules that decided about the tokens of one call. It holds no ids of tokens. */
export class AppliedRules implements Decisions {
  readonly list: Entry[] = []

  add(grants: Grants, permission: TokenPermission, token: Located): void {
    const rule = decidingRule(grants, permission, token)
    const decision = decisionOf(grants, permission, rule)
    const entry: Entry = {
      permission,
      disclosure: decision === 'denied' ? 'none' : decision,
      description: rule?.description ?? undefined,
      priority: rule?.priority,
      container: rule?.container ?? undefined,
      tokens: 1,
    }
    const known = this.list.find((other) => isSame(other, entry))
    if (known !== undefined) known.tokens++
    else if (this.list.length < MAX_RULES) this.list.push(entry)
  }
}
