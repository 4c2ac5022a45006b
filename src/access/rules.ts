import { parseScope } from '../common/containers.ts'
import type { AccessRule, Condition, Disclosure, Grants, TokenPermission } from '../sdk/index.ts'
import type { Visibility } from '../store/tokens/types.ts'

/** The parts of a token that rules look at. `id` is `''` while a token to be created has none. */
export interface Located {
  readonly id: string
  readonly container: string
}

export type Decision = Disclosure | 'denied'

interface CompiledRule {
  readonly conditions: readonly Condition[]
  readonly rule: AccessRule
}

/** Disclosure of a plain permission (completions §4). */
export const implied = (permission: string): Disclosure => (permission === 'token:use' ? 'reveal' : 'mask')

/** Undefined for a condition that can hold for nothing: malformed ones fail closed. */
const normalized = ({ attribute, operator, value }: Condition): Condition | undefined => {
  if (typeof value !== 'string' || value === '') return undefined
  if (operator !== 'equals' && operator !== 'starts_with') return undefined
  if (attribute === 'id') return { attribute, operator, value }
  if (attribute !== 'container') return undefined
  if (operator === 'starts_with') return { attribute, operator, value: value.toLowerCase() }
  const scope = parseScope(value)
  return scope === undefined ? undefined : { attribute, operator, value: scope }
}

/** A rule's container and conditions as one list, all of which must hold; undefined when nothing can match. */
const conditionsOf = ({ container, conditions = [] }: AccessRule): readonly Condition[] | undefined => {
  const all: Condition[] = []
  if (container !== undefined && container !== null) {
    const scope = parseScope(container)
    if (scope === undefined) return undefined
    all.push({ attribute: 'container', operator: 'starts_with', value: scope })
  }
  for (const condition of conditions ?? []) {
    const usable = normalized(condition)
    if (!usable) return undefined
    all.push(usable)
  }
  return all.length === 0 ? undefined : all
}

interface Compiled {
  readonly rules: readonly CompiledRule[]
  /** Some list of the grants says where `token:use` may send values. */
  readonly limitsUse: boolean
}

/** Grants live as long as the cached credential they came with, so their rules are put in order once. */
const compiled = new WeakMap<Grants, Compiled>()

const compile = (grants: Grants): Compiled => {
  const known = compiled.get(grants)
  if (known) return known
  const rules = grants.rules
    .flatMap((rule) => {
      const conditions = conditionsOf(rule)
      return conditions ? [{ rule, conditions }] : []
    })
    .sort((a, b) => a.rule.priority - b.rule.priority)
  const limitsUse =
    grants.destinations !== undefined || rules.some(({ rule }) => rule.destinations !== undefined)
  const result = { rules, limitsUse }
  compiled.set(grants, result)
  return result
}

const rulesOf = (grants: Grants): readonly CompiledRule[] => compile(grants).rules

/** Whether a list of the grants says where `token:use` may send values. */
export const limitsUse = (grants: Grants): boolean => compile(grants).limitsUse

const holds = ({ attribute, operator, value }: Condition, token: Located): boolean =>
  operator === 'equals' ? token[attribute] === value : token[attribute].startsWith(value)

const DISCLOSURES: readonly string[] = ['redact', 'mask', 'reveal'] satisfies Disclosure[]

/** The first rule by ascending priority that matches the token and grants the permission. */
export const decidingRule = (
  grants: Grants,
  permission: TokenPermission,
  token: Located,
): AccessRule | undefined => {
  for (const { rule, conditions } of rulesOf(grants))
    if (rule.permissions.includes(permission) && conditions.every((condition) => holds(condition, token)))
      return rule
  return undefined
}

/** Disclosure of the deciding rule of a token; without one, of the plain permission. */
export const decisionOf = (
  grants: Grants,
  permission: TokenPermission,
  rule: AccessRule | undefined,
): Decision => {
  if (rule !== undefined) return DISCLOSURES.includes(rule.transform) ? rule.transform : 'denied'
  return grants.permissions.includes(permission) ? implied(permission) : 'denied'
}

/**
 * How `grants` let a caller use `permission` on a token (completions §4): the deciding rule; without one plain
 * permissions, with their implied disclosure; else denied.
 */
export const decide = (grants: Grants, permission: TokenPermission, token: Located): Decision =>
  decisionOf(grants, permission, decidingRule(grants, permission, token))

/** A use that sends values to some destinations only shows them to those, not to the caller. */
const isUseElsewhere = (grants: Grants, permission: string, rule: AccessRule | undefined): boolean =>
  permission === 'token:use' && (grants.destinations !== undefined || rule?.destinations !== undefined)

/** Permissions by which a caller gets to see data. */
export const SHOWING = ['token:read', 'token:search', 'token:update', 'token:use'] as const

const admits = ({ operator, value }: Condition, other: string): boolean =>
  operator === 'equals' ? value === other : other.startsWith(value)

/** True when no token can satisfy both conditions. */
const areApart = (a: Condition, b: Condition): boolean =>
  a.attribute === b.attribute && !admits(a, b.value) && !admits(b, a.value)

const isAtRoot = ({ attribute, operator, value }: Condition): boolean =>
  attribute === 'container' && operator === 'starts_with' && value === '/'

/** True when `wanted` holds for whatever `known` holds for. */
const follows = (wanted: Condition, known: Condition): boolean =>
  wanted.attribute === known.attribute &&
  (known.operator === 'equals' || wanted.operator === 'starts_with') &&
  admits(wanted, known.value)

/** Whether the caller sees, by one permission, the data of each token for which all of `known` hold. */
const seesDataWhere = (grants: Grants, known: readonly Condition[]): boolean =>
  SHOWING.some((permission) => {
    for (const { rule, conditions } of rulesOf(grants)) {
      if (!rule.permissions.includes(permission)) continue
      if (conditions.some((condition) => known.some((fact) => areApart(fact, condition)))) continue
      if (rule.transform !== 'reveal' || isUseElsewhere(grants, permission, rule)) return false
      const decides = (condition: Condition) =>
        isAtRoot(condition) || known.some((fact) => follows(condition, fact))
      if (conditions.every(decides)) return true
    }
    return (
      grants.permissions.includes(permission) &&
      implied(permission) === 'reveal' &&
      !isUseElsewhere(grants, permission, undefined)
    )
  })

/** Whether the caller sees the data of every token in `container`, whatever its id. */
export const seesDataIn = (grants: Grants, container: string): boolean =>
  seesDataWhere(grants, [{ attribute: 'container', operator: 'equals', value: container }])

/** Disclosure to the caller itself by one permission: `denied` for a use that sends the value elsewhere. */
const shownBy = (grants: Grants, permission: TokenPermission, token: Located): Decision =>
  limitsUse(grants) && isUseElsewhere(grants, permission, decidingRule(grants, permission, token))
    ? 'denied'
    : decide(grants, permission, token)

/** Whether the caller sees the token's data, by whatever permission. */
export const seesData = (grants: Grants, token: Located): boolean =>
  SHOWING.some((permission) => shownBy(grants, permission, token) === 'reveal')

/** Ascending. */
const DECISIONS: readonly Decision[] = ['denied', 'redact', 'mask', 'reveal']

/** The rank of a decision: a higher one discloses more. */
export const levelOf = (decision: Decision): number => DECISIONS.indexOf(decision)

const highest = (decisions: readonly Decision[]): number => Math.max(...decisions.map(levelOf))

/** Whether the caller sees at least a mask of the token's data, by whatever permission. */
export const seesMask = (grants: Grants, token: Located): boolean =>
  SHOWING.some((permission) => levelOf(shownBy(grants, permission, token)) >= levelOf('mask'))

/**
 * Whether the caller sees more of a token `there` than `here`, or may send more of it. Both are compared: a use that is
 * limited to destinations shows nothing, but sends what its rule says.
 */
export const disclosesMoreAt = (grants: Grants, here: Located, there: Located): boolean =>
  [shownBy, decide].some((decisionBy) => {
    const at = (token: Located) => highest(SHOWING.map((permission) => decisionBy(grants, permission, token)))
    return at(there) > at(here)
  })

/** The tokens that `grants` let a caller list with `permission`; `'none'` when it is granted nowhere. */
export const visibility = (grants: Grants, permission: TokenPermission): Visibility | 'none' => {
  if (grants.permissions.includes(permission)) return 'all'
  const alternatives = rulesOf(grants)
    .filter(({ rule }) => rule.permissions.includes(permission))
    .map(({ conditions }) => conditions)
  return alternatives.length === 0 ? 'none' : alternatives
}

/** Whether the caller sees the data of all tokens that it may list with `permission`. */
export const seesAllListed = (grants: Grants, permission: TokenPermission): boolean => {
  const visible = visibility(grants, permission)
  if (visible === 'none') return false
  return (visible === 'all' ? [[]] : visible).every((conditions) => seesDataWhere(grants, conditions))
}
