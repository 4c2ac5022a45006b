/** The access of grants to tokens, and the effect of a change of grants (completions §16). No token is opened. */
import { denialOf, isLimited, type Limited } from '../access/destinations.ts'
import { type Decision, decide, decidingRule, SHOWING } from '../access/rules.ts'
import { yieldIfDue } from '../common/event-loop.ts'
import { createCodeScope } from '../egress/code-scope.ts'
import type {
  AccessBy,
  AccessComparison,
  AccessDecision,
  AccessDifference,
  Grants,
  TokenPermission,
  UseContext,
} from '../sdk/index.ts'
import type { TokenTraits } from '../store/tokens/types.ts'
import { effectiveDisclosure } from './disclosure.ts'
import { shownTo } from './egress.ts'
import { tokenNotFound } from './read.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

type Deps = Pick<VaultDeps, 'tokens' | 'types' | 'clock'>
type Context = Pick<UseContext, 'caller' | 'now'>

/** Permissions on tokens that exist. */
const ON_TOKENS: readonly TokenPermission[] = [...SHOWING, 'token:delete']
const ALL: readonly TokenPermission[] = ['token:create', ...ON_TOKENS]

/** Maximum tokens that a line counts. */
const COUNTED = 10_000
/**
 * Tokens that one comparison counts, and lines that it makes: it ends behind the container that exceeds one of them.
 */
const LIMITS = { tokens: 200_000, lines: 1_000 }
/** Groups of one read. */
const GROUPS = 500

/** Disclosure to the caller of the call itself: none by a deletion, that of the rule by a use. */
const disclosureOf = (
  { types }: Pick<Deps, 'types'>,
  permission: TokenPermission,
  traits: TokenTraits,
  decision: Decision,
): AccessDifference['to'] => {
  if (decision === 'denied') return 'none'
  if (permission === 'token:delete') return 'redact'
  const shown = permission === 'token:use' ? decision : shownTo(traits, decision, {})
  return effectiveDisclosure(types.get(traits.type), traits.masked !== null, shown)
}

/** The decision for code, which reads what it uses; code of a reactor has no destination (completions §14). */
const decisionForCode = (
  grants: Grants,
  permission: TokenPermission,
  token: Limited,
  decision: Decision,
  by: Exclude<AccessBy, 'key'>,
): Decision => {
  if (permission === 'token:delete' || decision === 'denied') return decision
  if (by === 'transform') return shownTo(token, decision, {})
  if (permission === 'token:use' && isLimited(grants, token) && denialOf(grants, token, {})) return 'denied'
  if (permission === 'token:read' && token.egress?.destinations) return 'denied'
  return shownTo(token, decision, { code: createCodeScope() })
}

/** `Vault.access`. */
export const accessTo = async (
  deps: Deps,
  id: string,
  context: Context,
): Promise<(grants: Grants, by?: AccessBy) => readonly AccessDecision[]> => {
  const located = await deps.tokens.located(context.caller.tenantId, id, timeOf(deps, context))
  if (!located) throw tokenNotFound(id)
  const token = { id, container: located.container, egress: located.egress }
  return (grants, by = 'key') =>
    ON_TOKENS.flatMap((permission) => {
      const granted = decide(grants, permission, token)
      const decision = by === 'key' ? granted : decisionForCode(grants, permission, token, granted, by)
      const disclosure = disclosureOf(deps, permission, located, decision)
      return disclosure === 'none'
        ? []
        : [{ permission, disclosure, rule: decidingRule(grants, permission, token) }]
    })
}

/** A permission whose decisions differ in a container. */
interface Change {
  readonly permission: TokenPermission
  readonly from: Decision
  readonly to: Decision
}

const changesIn = (from: Grants, to: Grants, container: string): readonly Change[] => {
  // Rules of applications have no conditions on ids.
  const token = { id: '', container }
  return ALL.flatMap((permission) => {
    const change = {
      permission,
      from: decide(from, permission, token),
      to: decide(to, permission, token),
    }
    return change.from === change.to ? [] : [change]
  })
}

/** The containers that tokens lie in, with the types of these tokens. */
async function* containersOf({ tokens }: Deps, tenantId: string) {
  let current: { container: string; types: string[] } | undefined
  let after = { container: '', type: '' }
  for (;;) {
    const groups = await tokens.groups(tenantId, after, GROUPS)
    for (const group of groups) {
      if (current?.container === group.container) current.types.push(group.type)
      else {
        if (current) yield current
        current = { container: group.container, types: [group.type] }
      }
      after = group
    }
    if (groups.length < GROUPS) break
  }
  if (current) yield current
}

/** `Vault.compareAccess`. */
export const compareAccess = async (
  deps: Deps,
  from: Grants,
  to: Grants,
  context: Context,
): Promise<AccessComparison> => {
  const { tenantId } = context.caller
  const now = timeOf(deps, context)
  const lines: AccessDifference[] = []
  let counted = 0
  for await (const { container, types } of containersOf(deps, tenantId)) {
    const pause = yieldIfDue()
    if (pause) await pause
    const changes = changesIn(from, to, container)
    if (changes.length === 0) continue
    if (lines.length >= LIMITS.lines || counted >= LIMITS.tokens) return { lines, more: true }
    const differences = new Map<string, AccessDifference>()
    for (const type of types) {
      const all = await deps.tokens.traits(tenantId, { container, type }, now, COUNTED + 1)
      const size = all.reduce((sum, { tokens }) => sum + tokens, 0)
      counted += size
      for (const { permission, ...change } of changes)
        for (const { tokens, ...traits } of all) {
          const line = {
            container,
            permission,
            from: disclosureOf(deps, permission, traits, change.from),
            to: disclosureOf(deps, permission, traits, change.to),
          }
          if (line.from === line.to) continue
          const key = `${permission} ${line.from} ${line.to}`
          const before = differences.get(key)
          const sum = (before?.tokens ?? 0) + tokens
          const exact = (before?.exact ?? true) && size <= COUNTED && sum <= COUNTED
          differences.set(key, { ...line, tokens: Math.min(sum, COUNTED), exact })
        }
    }
    lines.push(...differences.values())
  }
  return { lines, more: false }
}
