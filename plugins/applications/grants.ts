import type { Static } from 'typebox'
import { destinationsOf, type FieldIssue, throwIfInvalid, unknownPermission } from '#kit'
import type { AllowedDestinationInput, ApplicationType, DestinationList, PermissionInfo } from '#sdk'
import type { RuleInput, StoredRule } from './schemas.ts'

type Rule = Static<typeof StoredRule>

interface GrantsInput {
  readonly permissions?: readonly string[] | null
  readonly rules?: readonly Static<typeof RuleInput>[] | null
  readonly destinations?: readonly AllowedDestinationInput[] | null
}

/** Grants of an application, in stored form. */
export interface ApplicationGrants {
  readonly permissions: string[]
  readonly rules: Rule[]
  readonly destinations?: DestinationList
  /** Hosts of the application's destinations and of its rules', each once. Private applications only. */
  readonly bound_hosts?: string[]
}

/** The issue with granting `permission` to an application of `type`, or undefined. */
const rejection = (permission: string, type: ApplicationType, known: readonly PermissionInfo[]) => {
  const info = known.find((candidate) => candidate.type === permission)
  if (info === undefined) return unknownPermission(permission)
  if (!info.application_types.includes(type))
    return `"${permission}" is not allowed for ${type} applications; see GET /permissions?application_type=${type}`
  return undefined
}

const ruleIssues = (
  rule: Static<typeof RuleInput>,
  index: number,
  rules: readonly Static<typeof RuleInput>[],
): [string, string][] => {
  const issues: [string, string][] = []
  if ((rule.conditions?.length ?? 0) > 0)
    issues.push(['conditions', 'are for sessions only; name a container instead'])
  else if (typeof rule.container !== 'string') issues.push(['container', 'is required'])
  if (rules.findIndex((other) => other.priority === rule.priority) < index)
    issues.push(['priority', 'must be unique among the rules of an application'])
  return issues
}

const stored = (rule: Static<typeof RuleInput>, index: number, issues: FieldIssue[]): Rule => ({
  description: rule.description,
  priority: rule.priority,
  container: (rule.container ?? '').toLowerCase(),
  transform: rule.transform,
  permissions: [...new Set(rule.permissions)],
  ...destinationsOf(rule.destinations, `rules[${index}].destinations`, issues),
})

/** Only private applications use the forward proxy. */
const boundHosts = (
  type: ApplicationType,
  { destinations = [], rules }: ApplicationGrants,
): Pick<ApplicationGrants, 'bound_hosts'> => {
  const all = [...destinations, ...rules.flatMap((rule) => rule.destinations ?? [])]
  return type === 'private' && all.length > 0
    ? { bound_hosts: [...new Set(all.map(({ host }) => host))] }
    : {}
}

/**
 * The permissions, rules and destinations that an application of `type` is to hold, in stored form (containers in lower
 * case, no permission twice, hosts normalized). Throws `invalid` with all issues when one is not allowed for the type,
 * or when both are empty (completions §4).
 */
export const checkGrants = (
  input: GrantsInput,
  type: ApplicationType,
  known: readonly PermissionInfo[],
): ApplicationGrants => {
  const permissions = [...new Set(input.permissions ?? [])]
  const rules = input.rules ?? []
  const issues: FieldIssue[] = permissions.map((permission) => [
    'permissions',
    rejection(permission, type, known),
  ])
  if (permissions.length === 0 && rules.length === 0)
    issues.push([
      'permissions',
      'must not be empty when there are no rules: name at least one permission or rule',
    ])
  if (type === 'management' && input.destinations)
    issues.push(['destinations', 'are for public and private applications'])
  if (type === 'management' && rules.length > 0)
    issues.push([
      'rules',
      'are for public and private applications; management applications have permissions only',
    ])
  else
    for (const [index, rule] of rules.entries()) {
      const at = `rules[${index}]`
      for (const [member, sentence] of ruleIssues(rule, index, rules))
        issues.push([`${at}.${member}`, sentence])
      for (const permission of rule.permissions)
        issues.push([`${at}.permissions`, rejection(permission, type, known)])
    }
  const grants = {
    permissions,
    rules: rules.map((rule, index) => stored(rule, index, issues)),
    ...destinationsOf(input.destinations, 'destinations', issues),
  }
  throwIfInvalid(issues)
  return { ...grants, ...boundHosts(type, grants) }
}
