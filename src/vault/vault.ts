import { createShares } from '../common/shares.ts'
import { createPlaces, createTurns } from '../common/turns.ts'
import type { Vault } from '../sdk/index.ts'
import { associateTokens, createChild, dissociateTokens, listChildren } from './associations.ts'
import { createTokens } from './create.ts'
import { detokenizeBody } from './detokenize.ts'
import { foreseeUse } from './foresee.ts'
import { holdMeanwhile } from './held.ts'
import { listTokens } from './list.ts'
import { DEFAULT_LIMITS, type Parts, type VaultDeps, type VaultLimits } from './parts.ts'
import { deleteToken, getToken } from './read.ts'
import { createTokenTypes } from './token-types.ts'
import { tokenizeBody } from './tokenize.ts'
import { updateToken } from './update.ts'
import { useTokens } from './use.ts'
import { areCurrent } from './used.ts'

/**
 * Pages of one tenant that are made at once; more wait. A page may hold 32 MiB, and several times as much while it is
 * opened and shown: 60 of 36 MB at once took 3.5 GB, and held everybody up for 18 s.
 */
const PAGES = 4

/** The tokens of all tenants, each call bound to its caller's (see `Vault`). */
export const createVault = (
  { tokenTypes, ...deps }: VaultDeps,
  options: { readonly limits?: Partial<VaultLimits> } = {},
): Vault => {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const parts: Parts = {
    ...deps,
    types: createTokenTypes(tokenTypes),
    limits,
    held: createShares(
      limits.held,
      'Calls of this tenant hold as much token data as they may. Retry when one of them is over, or name fewer tokens at once.',
    ),
  }
  const inTurn = createTurns()
  const inPlace = createPlaces(PAGES)
  return {
    create: (inputs, context) => holdMeanwhile(context, (held) => createTokens(parts, inputs, held)),
    get: (id, context) => holdMeanwhile(context, (held) => getToken(parts, id, held)),
    list: (filter, page, context, permission = 'token:read') =>
      holdMeanwhile(context, (held) =>
        inPlace(context.caller.tenantId, () => listTokens(parts, filter, page, held, permission)),
      ),
    update: (id, patch, context) =>
      inTurn(`${context.caller.tenantId} ${id}`, () => updateToken(parts, id, patch, context)),
    delete: (id, context) => deleteToken(parts, id, context),
    associate: (parentId, childId, context) => associateTokens(parts, parentId, childId, context),
    dissociate: (parentId, childId, context) => dissociateTokens(parts, parentId, childId, context),
    createChild: (parentId, input, context) =>
      holdMeanwhile(context, (held) => createChild(parts, parentId, input, held)),
    children: (parentId, filter, page, context) =>
      holdMeanwhile(context, (held) =>
        inPlace(context.caller.tenantId, () => listChildren(parts, parentId, filter, page, held)),
      ),
    tokenize: (body, context) => holdMeanwhile(context, (held) => tokenizeBody(parts, body, held)),
    detokenize: (body, context, permission) =>
      holdMeanwhile(context, (held) => detokenizeBody(parts, body, held, permission)),
    use: (ids, context) => holdMeanwhile(context, (held) => useTokens(parts, ids, held)),
    foresee: (ids, context) => holdMeanwhile(context, (held) => foreseeUse(parts, ids, held)),
    areCurrent: (states, context) => holdMeanwhile(context, (held) => areCurrent(parts, states, held)),
  }
}
