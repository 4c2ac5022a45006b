import { decide } from '../access/rules.ts'
import { checkVersion, isConditional, noteVersion } from '../common/conditional-call.ts'
import { AppError } from '../common/errors.ts'
import { inOwnTurn, yieldIfDue } from '../common/event-loop.ts'
import { PIECE } from '../common/weight.ts'
import type { Disclosure, Token, TokenPermission, UseContext } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { deniedRecord, doneRecord, type TokenOperation } from './audit-records.ts'
import { capDisclosure, checkRead, giveToCode } from './egress.ts'
import { createMemoryBudget } from './memory-budget.ts'
import { storedBytes } from './open.ts'
import { printableId } from './safe-id.ts'
import { openToken } from './seal.ts'
import { serializeToken, shownData } from './serialize-token.ts'
import { stateOf, versionOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** The error for an id that is unknown, expired or another tenant's: all three look alike (completions §2). */
export const tokenNotFound = (id: string): AppError =>
  new AppError('token_not_found', `${printableId(id)} does not exist. Check the id.`)

/** Records a denied call, then throws `forbidden`. */
export const reject = async (
  deps: VaultDeps,
  row: Pick<TokenRow, 'id' | 'type'>,
  operation: TokenOperation,
  context: UseContext,
): Promise<never> => {
  await deps.journal.append([deniedRecord(deps, row, operation, context, timeOf(deps, context))])
  throw new AppError(
    'forbidden',
    `${printableId(row.id)} may not be ${operation === 'read' ? 'read' : `${operation.replace(/e$/, '')}ed`} with this key. Use a key with an access rule or permission for its container.`,
    { tokens: [row.id] },
  )
}

/** A token of the caller's tenant and its disclosure by `permission`. Throws `token_not_found` or `forbidden`. */
export const findToken = async (
  deps: VaultDeps,
  id: string,
  permission: TokenPermission,
  operation: TokenOperation,
  context: UseContext,
): Promise<{ readonly row: TokenRow; readonly disclosure: Disclosure }> => {
  const [row] = await deps.tokens.read(context.caller.tenantId, [id], timeOf(deps, context))
  if (!row) throw tokenNotFound(id)
  const disclosure = decide(context.caller.grants, permission, row)
  context.decisions?.add(context.caller.grants, permission, row)
  return disclosure === 'denied' ? reject(deps, row, operation, context) : { row, disclosure }
}

/** `Vault.get`. */
export const getToken = async (deps: VaultDeps, id: string, context: UseContext): Promise<Token> => {
  const { row, disclosure: decided } = await findToken(deps, id, 'token:read', 'read', context)
  noteVersion(id, versionOf(row))
  const allowed = await checkRead(deps, row, decided, { ...context, maxDisclosure: undefined })
  const granted = capDisclosure(allowed, context.maxDisclosure)
  const now = timeOf(deps, context)
  const bytes = storedBytes([row])
  createMemoryBudget(deps, context)(bytes)
  const ring = await deps.keys.tenant(context.caller.tenantId, [row.sealed])
  // Many concurrent calls resume in one turn of the event loop.
  const pause = yieldIfDue(bytes > PIECE)
  if (pause) await pause
  const opened = await inOwnTurn(() => openToken(ring, row, now))
  const token = await inOwnTurn(() => {
    const data = shownData(deps, row.type, opened, granted)
    giveToCode(context, row, granted, data)
    return serializeToken(deps, row, opened, data, context.caller.grants)
  })
  const disclosure = token.data === undefined ? 'redact' : granted
  await deps.journal.append([doneRecord(deps, row, 'read', context, now, disclosure)])
  deps.metrics.disclosed.inc({ type: row.type, purpose: 'read', disclosure })
  context.used?.add(stateOf(row, opened))
  return context.maxDisclosure === undefined ? token : { ...token, disclosure: allowed }
}

/** `Vault.delete`. */
export const deleteToken = async (deps: VaultDeps, id: string, context: UseContext): Promise<void> => {
  const { row } = await findToken(deps, id, 'token:delete', 'delete', context)
  checkVersion(id, versionOf(row))
  const now = timeOf(deps, context)
  // Before the delete, which leaves no other trace. Other changes leave actor and time in the row.
  await deps.journal.append([doneRecord(deps, row, 'delete', context, now)])
  const expected = isConditional(id) ? row : undefined
  if (!(await deps.tokens.delete(context.caller.tenantId, id, now, expected))) throw tokenNotFound(id)
}
