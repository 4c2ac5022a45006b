import { createKeyedMutex, createKeyedSemaphore } from '../common/keyed-mutex.ts'
import { createShares } from '../common/shares.ts'
import type { Vault } from '../sdk/index.ts'
import { accessTo, compareAccess } from './access.ts'
import { associateTokens, createChild, dissociateTokens, listAssociated } from './associations.ts'
import { createTokens } from './create.ts'
import { detokenizeBody } from './detokenize.ts'
import { listTokens } from './list.ts'
import { collectReleased, withMemoryBudget } from './memory-budget.ts'
import { previewUse } from './preview-use.ts'
import { deleteToken, getToken } from './read.ts'
import { createTokenTypes } from './token-types.ts'
import { tokenizeBody } from './tokenize.ts'
import { updateToken } from './update.ts'
import { knownTokens, useTokens } from './use.ts'
import { areCurrent } from './used.ts'
import { DEFAULT_LIMITS, type VaultDeps, type VaultLimits, type VaultOptions } from './vault-deps.ts'

/**
 * Concurrent pages of one tenant; more wait. A page may hold 32 MiB, and several times as much while it is
 * opened and serialized: 60 concurrent pages of 36 MB took 3.5 GB and blocked all calls for 18 s.
 */
const PAGES = 4

/** The tokens of all tenants; each call is bound to its caller's tenant (see `Vault`). */
export const createVault = (
  { tokenTypes, ...services }: VaultOptions,
  options: { readonly limits?: Partial<VaultLimits> } = {},
): Vault => {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deps: VaultDeps = {
    ...services,
    types: createTokenTypes(tokenTypes),
    limits,
    held: collectReleased(
      createShares(
        limits.held,
        'Calls of this tenant hold too much token data. Retry after one of them ends, or name fewer tokens.',
      ),
    ),
  }
  const runExclusive = createKeyedMutex()
  const inPlace = createKeyedSemaphore(PAGES)
  return {
    create: (inputs, context) =>
      withMemoryBudget(context, (budgeted) => createTokens(deps, inputs, budgeted)),
    get: (id, context) => withMemoryBudget(context, (budgeted) => getToken(deps, id, budgeted)),
    list: (filter, page, context, permission = 'token:read') =>
      withMemoryBudget(context, (budgeted) =>
        inPlace(context.caller.tenantId, () => listTokens(deps, filter, page, budgeted, permission)),
      ),
    update: (id, patch, context) =>
      runExclusive(`${context.caller.tenantId} ${id}`, () => updateToken(deps, id, patch, context)),
    delete: (id, context) => deleteToken(deps, id, context),
    associate: (parentId, childId, context) => associateTokens(deps, parentId, childId, context),
    dissociate: (parentId, childId, context) => dissociateTokens(deps, parentId, childId, context),
    createChild: (parentId, input, context) =>
      withMemoryBudget(context, (budgeted) => createChild(deps, parentId, input, budgeted)),
    children: (parentId, filter, page, context) =>
      withMemoryBudget(context, (budgeted) =>
        inPlace(context.caller.tenantId, () =>
          listAssociated(deps, 'child', parentId, filter, page, budgeted),
        ),
      ),
    parents: (childId, page, context) =>
      withMemoryBudget(context, (budgeted) =>
        inPlace(context.caller.tenantId, () => listAssociated(deps, 'parent', childId, {}, page, budgeted)),
      ),
    tokenize: (body, context) => withMemoryBudget(context, (budgeted) => tokenizeBody(deps, body, budgeted)),
    detokenize: (body, context, permission) =>
      withMemoryBudget(context, (budgeted) => detokenizeBody(deps, body, budgeted, permission)),
    use: (ids, context) => withMemoryBudget(context, (budgeted) => useTokens(deps, ids, budgeted)),
    preview: (ids, context) => withMemoryBudget(context, (budgeted) => previewUse(deps, ids, budgeted)),
    access: (id, context) => accessTo(deps, id, context),
    compareAccess: (from, to, context) => compareAccess(deps, from, to, context),
    known: (ids, context) => knownTokens(deps, ids, context),
    areCurrent: (states, context) =>
      withMemoryBudget(context, (budgeted) => areCurrent(deps, states, budgeted)),
  }
}
