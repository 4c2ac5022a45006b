import { newId } from '../common/ids.ts'
import type { VaultDeps } from './vault-deps.ts'

/** Source of a token's id in a batch: chosen, generated, or one of several aliases. */
export type IdPlan =
  | { readonly kind: 'fixed'; readonly id: string }
  | { readonly kind: 'new' }
  | { readonly kind: 'alias'; readonly candidates: readonly string[] }

/** Attempts to store a batch with aliases, before UUIDs replace them. */
const ALIAS_ATTEMPTS = 3

/**
 * New ids of one call: UUIDs v4 that share their first 32 bits, so that an index by id changes few pages (ADR 0150).
 */
const createNewIds = (): (() => string) => {
  const shared = newId().slice(0, 8)
  return () => shared + newId().slice(8)
}

/**
 * The ids for each attempt to store a batch. Seals are bound to the id, so an alias is chosen before the write: free
 * ones by a read, then others if a concurrent create has used one, and at last UUIDs (completions §5).
 */
export const idAttempts = async function* (
  deps: Pick<VaultDeps, 'tokens'>,
  tenantId: string,
  plans: readonly IdPlan[],
  now: number,
): AsyncGenerator<readonly string[]> {
  const nextId = createNewIds()
  const aliases = plans.flatMap((plan) => (plan.kind === 'alias' ? plan.candidates : []))
  for (let attempt = 0; attempt < (aliases.length > 0 ? ALIAS_ATTEMPTS : 0); attempt++) {
    const rows = await deps.tokens.heads(tenantId, aliases, now)
    const used = new Set(rows.map(({ id }) => id))
    const choose = (candidates: readonly string[]): string => {
      const free = candidates.slice(attempt).find((id) => !used.has(id)) ?? nextId()
      used.add(free)
      return free
    }
    yield plans.map((plan) => {
      if (plan.kind === 'alias') return choose(plan.candidates)
      return plan.kind === 'fixed' ? plan.id : nextId()
    })
  }
  yield plans.map((plan) => (plan.kind === 'fixed' ? plan.id : nextId()))
}
