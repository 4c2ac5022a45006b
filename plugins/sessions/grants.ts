import type { Static } from 'typebox'
import { destinationsOf, type FieldIssue, throwIfInvalid, unknownPermission } from '#kit'
import type { Grants, PermissionInfo } from '#sdk'
import type { AuthorizeInput, RuleInput, StoredRule } from './schemas.ts'

type Sent = Static<typeof RuleInput>
type Stored = Static<typeof StoredRule>

const CONTAINER = /^\/(?:[a-z0-9_-]+\/)*$/

/** Sessions may hold what private applications may. */
const rejection = (permission: string, known: readonly PermissionInfo[]): string | undefined => {
  const info = known.find(({ type }) => type === permission)
  if (info === undefined) return unknownPermission(permission)
  return info.application_types.includes('private') ? undefined : `"${permission}" is not for sessions`
}

const ruleIssues = (rule: Sent, index: number, rules: readonly Sent[]): [string, string][] => {
  const issues: [string, string][] = []
  const conditions = rule.conditions ?? []
  if (typeof rule.container === 'string') {
    if (conditions.length > 0) issues.push(['conditions', 'must not be sent together with a container'])
  } else if (conditions.length === 0) issues.push(['container', 'is required unless there are conditions'])
  for (const [at, { attribute, operator, value }] of conditions.entries()) {
    const path = value.toLowerCase()
    if (attribute !== 'container') continue
    if (operator === 'equals' && !CONTAINER.test(path.endsWith('/') ? path : `${path}/`))
      issues.push([`conditions[${at}].value`, 'must be a container such as /pci/high/'])
    if (operator === 'starts_with' && !path.startsWith('/'))
      issues.push([`conditions[${at}].value`, 'must begin with a slash'])
  }
  if (rules.findIndex((other) => other.priority === rule.priority) < index)
    issues.push(['priority', 'must be unique among the rules of a session'])
  return issues
}

const stored = (
  { description, priority, container, conditions, transform, permissions, destinations }: Sent,
  index: number,
  issues: FieldIssue[],
): Stored => ({
  description,
  priority,
  ...(typeof container === 'string' ? { container: container.toLowerCase() } : {}),
  ...(conditions?.length ? { conditions } : {}),
  transform,
  permissions: [...new Set(permissions)],
  ...destinationsOf(destinations, `rules[${index}].destinations`, issues),
})

/** The grants of a session in stored form. Throws `invalid` with all issues, and for an empty grant. */
export const parseGrants = (
  input: Pick<Static<typeof AuthorizeInput>, 'permissions' | 'rules'>,
  known: readonly PermissionInfo[],
): { permissions: string[]; rules: Stored[] } & Grants => {
  const permissions = [...new Set(input.permissions ?? [])]
  const rules = input.rules ?? []
  const issues: FieldIssue[] = permissions.map((permission) => ['permissions', rejection(permission, known)])
  if (permissions.length === 0 && rules.length === 0)
    issues.push([
      'permissions',
      'must not be empty when there are no rules: name at least one permission or rule',
    ])
  for (const [index, rule] of rules.entries()) {
    const at = `rules[${index}]`
    for (const [member, sentence] of ruleIssues(rule, index, rules))
      issues.push([`${at}.${member}`, sentence])
    for (const permission of rule.permissions)
      issues.push([`${at}.permissions`, rejection(permission, known)])
  }
  const grants = { permissions, rules: rules.map((rule, index) => stored(rule, index, issues)) }
  throwIfInvalid(issues)
  return grants
}
