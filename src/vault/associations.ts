import { AppError, invalid } from '../common/errors.ts'
import type {
  PageRequest,
  Token,
  TokenFilter,
  TokenInput,
  TokenPage,
  TokenPermission,
  UseContext,
} from '../sdk/index.ts'
import type { Association, SearchNode } from '../store/tokens/types.ts'
import { createTokens } from './create.ts'
import { listTokens } from './list.ts'
import { findToken } from './read.ts'
import { printableId } from './safe-id.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** Sequence numbers of both tokens, which exist and which the caller may access. */
const pairOf = async (
  deps: VaultDeps,
  [parentId, childId]: readonly [string, string],
  permission: TokenPermission,
  context: UseContext,
): Promise<Association> => {
  const operation = permission === 'token:delete' ? 'delete' : 'read'
  const parent = await findToken(deps, parentId, permission, operation, context)
  const child = await findToken(deps, childId, permission, operation, context)
  return { tenantId: context.caller.tenantId, parentSeq: parent.row.seq, childSeq: child.row.seq }
}

const missing = (): AppError =>
  new AppError('token_not_found', 'One of the two tokens was deleted concurrently. Check both ids.')

/** `Vault.associate`. */
export const associateTokens = async (
  deps: VaultDeps,
  parentId: string,
  childId: string,
  context: UseContext,
): Promise<void> => {
  const pair = await pairOf(deps, [parentId, childId], 'token:read', context)
  if (pair.parentSeq === pair.childSeq)
    throw invalid({ child_id: ['must not be the parent: a token is no child of itself'] })
  const outcome = await deps.tokens.associate(pair, timeOf(deps, context))
  if (outcome === 'gone') throw missing()
  if (outcome === 'exists')
    throw new AppError('conflict', `${printableId(childId)} is a child of this token already.`)
}

/** `Vault.dissociate`. */
export const dissociateTokens = async (
  deps: VaultDeps,
  parentId: string,
  childId: string,
  context: UseContext,
): Promise<void> => {
  const pair = await pairOf(deps, [parentId, childId], 'token:delete', context)
  if (!(await deps.tokens.dissociate(pair)))
    throw new AppError('association_not_found', `${printableId(childId)} is not a child of this token.`)
}

/** `Vault.createChild`. */
export const createChild = async (
  deps: VaultDeps,
  parentId: string,
  input: TokenInput,
  context: UseContext,
): Promise<Token> => {
  const findParent = async () => (await findToken(deps, parentId, 'token:read', 'read', context)).row.seq
  const [token] = await createTokens(deps, [input], context, findParent)
  return token!
}

/** `Vault.children` and `Vault.parents`. */
export const listAssociated = async (
  deps: VaultDeps,
  kind: 'child' | 'parent',
  id: string,
  filter: Pick<TokenFilter, 'ids' | 'types'>,
  page: PageRequest,
  context: UseContext,
): Promise<TokenPage> => {
  const { seq } = (await findToken(deps, id, 'token:read', 'read', context)).row
  const among: SearchNode = kind === 'child' ? { kind, parentSeq: seq } : { kind, childSeq: seq }
  return listTokens(deps, filter, page, context, 'token:read', among)
}
