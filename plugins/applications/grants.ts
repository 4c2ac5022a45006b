import type { Static } from 'typebox'
import { type ApplicationType, invalid, type PermissionInfo, unknownPermission } from '#sdk'
import type { RuleInput, StoredRule } from './schemas.ts'

type Rule = Static<typeof StoredRule>

interface GrantsInput {
  readonly permissions?: readonly string[] | null
  readonly rules?: readonly Static<typeof RuleInput>[] | null
}

/** What is wrong with granting `permission` to an application of `type`, or undefined. */
const refusal = (permission: string, type: ApplicationType, known: readonly PermissionInfo[]) => {
  const info = known.find((candidate) => candidate.type === permission)
  if (info === undefined) return unknownPermission(permission)
  if (!info.application_types.includes(type))
    return `"${permission}" is not allowed for ${type} applications; see GET /permissions?application_type=${type}`
  return undefined
}

const ruleFaults = (
  rule: Static<typeof RuleInput>,
  index: number,
  rules: readonly Static<typeof RuleInput>[],
): [string, string][] => {
  const faults: [string, string][] = []
  if ((rule.conditions?.length ?? 0) > 0)
    faults.push(['conditions', 'are for sessions only; name a container instead'])
  else if (typeof rule.container !== 'string') faults.push(['container', 'is required'])
  if (rules.findIndex((other) => other.priority === rule.priority) < index)
    faults.push(['priority', 'must be unique among the rules of an application'])
  return faults
}

const stored = (rule: Static<typeof RuleInput>): Rule => ({
  description: rule.description,
  priority: rule.priority,
  container: (rule.container ?? '').toLowerCase(),
  transform: rule.transform,
  permissions: [...new Set(rule.permissions)],
})

/**
 * The permissions and rules that an application of `type` is to hold, in stored form (containers in lower case, no
 * permission twice). `invalid` with all faults when one is not allowed for the type, or when both are empty (completions §4).
 */
export const checkGrants = (
  input: GrantsInput,
  type: ApplicationType,
  known: readonly PermissionInfo[],
): { permissions: string[]; rules: Rule[] } => {
  const permissions = [...new Set(input.permissions ?? [])]
  const rules = input.rules ?? []
  const errors: Record<string, string[]> = {}
  const fault = (path: string, message: string | undefined) => {
    if (message !== undefined) errors[path] = [...(errors[path] ?? []), message]
  }

  if (permissions.length === 0 && rules.length === 0)
    fault('permissions', 'must not be empty when there are no rules: name at least one permission or rule')
  for (const permission of permissions) fault('permissions', refusal(permission, type, known))
  if (type === 'management' && rules.length > 0)
    fault('rules', 'are for public and private applications; management applications have permissions only')
  else
    for (const [index, rule] of rules.entries()) {
      for (const [member, message] of ruleFaults(rule, index, rules))
        fault(`rules[${index}].${member}`, message)
      for (const permission of rule.permissions)
        fault(`rules[${index}].permissions`, refusal(permission, type, known))
    }

  if (Object.keys(errors).length > 0) throw invalid(errors)
  return { permissions, rules: rules.map(stored) }
}
