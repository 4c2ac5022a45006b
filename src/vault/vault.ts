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
  { tokenTypes, ...deps }: VaultOptions,
  options: { readonly limits?: Partial<VaultLimits> } = {},
): Vault => {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const parts: VaultDeps = {
    ...deps,
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
    create: (inputs, context) => withMemoryBudget(context, (held) => createTokens(parts, inputs, held)),
    get: (id, context) => withMemoryBudget(context, (held) => getToken(parts, id, held)),
    list: (filter, page, context, permission = 'token:read') =>
      withMemoryBudget(context, (held) =>
        inPlace(context.caller.tenantId, () => listTokens(parts, filter, page, held, permission)),
      ),
    update: (id, patch, context) =>
      runExclusive(`${context.caller.tenantId} ${id}`, () => updateToken(parts, id, patch, context)),
    delete: (id, context) => deleteToken(parts, id, context),
    associate: (parentId, childId, context) => associateTokens(parts, parentId, childId, context),
    dissociate: (parentId, childId, context) => dissociateTokens(parts, parentId, childId, context),
    createChild: (parentId, input, context) =>
      withMemoryBudget(context, (held) => createChild(parts, parentId, input, held)),
    children: (parentId, filter, page, context) =>
      withMemoryBudget(context, (held) =>
        inPlace(context.caller.tenantId, () => listAssociated(parts, 'child', parentId, filter, page, held)),
      ),
    parents: (childId, page, context) =>
      withMemoryBudget(context, (held) =>
        inPlace(context.caller.tenantId, () => listAssociated(parts, 'parent', childId, {}, page, held)),
      ),
    tokenize: (body, context) => withMemoryBudget(context, (held) => tokenizeBody(parts, body, held)),
    detokenize: (body, context, permission) =>
      withMemoryBudget(context, (held) => detokenizeBody(parts, body, held, permission)),
    use: (ids, context) => withMemoryBudget(context, (held) => useTokens(parts, ids, held)),
    preview: (ids, context) => withMemoryBudget(context, (held) => previewUse(parts, ids, held)),
    access: (id, context) => accessTo(parts, id, context),
    compareAccess: (from, to, context) => compareAccess(parts, from, to, context),
    known: (ids, context) => knownTokens(parts, ids, context),
    areCurrent: (states, context) => withMemoryBudget(context, (held) => areCurrent(parts, states, held)),
  }
}
