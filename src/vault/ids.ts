import { newId } from '../common/ids.ts'
import type { VaultParts } from './vault-deps.ts'

/** How one token of a batch gets its id: chosen, made, or one of several aliases. */
export type IdPlan =
  | { readonly kind: 'fixed'; readonly id: string }
  | { readonly kind: 'alias'; readonly candidates: readonly string[] }

/** Attempts to store a batch that holds aliases, before they give way to UUIDs. */
const ALIAS_ATTEMPTS = 3

/**
 * The ids a batch is tried with, in turn. Seals are bound to the id, so an alias is chosen before the write: free ones
 * by a read, then, should another create take one in between, others, and at last UUIDs (completions §5).
 */
export const idAttempts = async function* (
  parts: Pick<VaultParts, 'tokens'>,
  tenantId: string,
  plans: readonly IdPlan[],
  now: number,
): AsyncGenerator<readonly string[]> {
  const aliases = plans.flatMap((plan) => (plan.kind === 'alias' ? plan.candidates : []))
  for (let attempt = 0; attempt < (aliases.length > 0 ? ALIAS_ATTEMPTS : 0); attempt++) {
    const rows = await parts.tokens.heads(tenantId, aliases, now)
    const used = new Set(rows.map(({ id }) => id))
    const choose = (candidates: readonly string[]): string => {
      const free = candidates.slice(attempt).find((id) => !used.has(id)) ?? newId()
      used.add(free)
      return free
    }
    yield plans.map((plan) => (plan.kind === 'fixed' ? plan.id : choose(plan.candidates)))
  }
  yield plans.map((plan) => (plan.kind === 'fixed' ? plan.id : newId()))
}
