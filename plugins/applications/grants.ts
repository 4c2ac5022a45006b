import type { Static } from 'typebox'
import {
  type ApplicationType,
  type FieldFault,
  type PermissionInfo,
  refuseAny,
  unknownPermission,
} from '#sdk'
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
  const faults: FieldFault[] = permissions.map((permission) => [
    'permissions',
    refusal(permission, type, known),
  ])
  if (permissions.length === 0 && rules.length === 0)
    faults.push([
      'permissions',
      'must not be empty when there are no rules: name at least one permission or rule',
    ])
  if (type === 'management' && rules.length > 0)
    faults.push([
      'rules',
      'are for public and private applications; management applications have permissions only',
    ])
  else
    for (const [index, rule] of rules.entries()) {
      const at = `rules[${index}]`
      for (const [member, sentence] of ruleFaults(rule, index, rules))
        faults.push([`${at}.${member}`, sentence])
      for (const permission of rule.permissions)
        faults.push([`${at}.permissions`, refusal(permission, type, known)])
    }
  refuseAny(faults)
  return { permissions, rules: rules.map(stored) }
}
