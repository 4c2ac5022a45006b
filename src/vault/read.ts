import { AppError } from '../common/errors.ts'
import type { Disclosure, Token, TokenPermission, UseContext } from '../sdk/index.ts'
import type { TokenRow } from '../store/types.ts'
import { decide } from './access.ts'
import { deniedRecord, doneRecord, type TokenOperation } from './audit-records.ts'
import { createHolding } from './held.ts'
import { named } from './naming.ts'
import { storedBytes } from './open.ts'
import { type Parts, timeOf } from './parts.ts'
import { present, shownData } from './present.ts'
import { openToken } from './seal.ts'
import { stateOf } from './used.ts'

/** One answer for unknown, expired and other tenants' ids (completions §2). */
export const notFound = (id: string): AppError =>
  new AppError('not_found', `${named(id)} does not exist. Check the id.`)

/** Records a refused call, then throws `forbidden`. */
export const refuse = async (
  parts: Parts,
  row: Pick<TokenRow, 'id' | 'type'>,
  operation: TokenOperation,
  context: UseContext,
): Promise<never> => {
  await parts.journal.append([deniedRecord(parts, row, operation, context, timeOf(parts, context))])
  throw new AppError(
    'forbidden',
    `${named(row.id)} may not be ${operation === 'read' ? 'read' : `${operation.replace(/e$/, '')}ed`} with this key. Use a key with an access rule or permission for its container.`,
  )
}

/** A live token of the caller's tenant and what `permission` discloses of it; `not_found` or `forbidden`. */
export const findToken = async (
  parts: Parts,
  id: string,
  permission: TokenPermission,
  operation: TokenOperation,
  context: UseContext,
): Promise<{ readonly row: TokenRow; readonly disclosure: Disclosure }> => {
  const [row] = await parts.tokens.read(context.caller.tenantId, [id], timeOf(parts, context))
  if (!row) throw notFound(id)
  const disclosure = decide(context.caller.grants, permission, row)
  return disclosure === 'denied' ? refuse(parts, row, operation, context) : { row, disclosure }
}

/** `Vault.get`. */
export const getToken = async (parts: Parts, id: string, context: UseContext): Promise<Token> => {
  const { row, disclosure } = await findToken(parts, id, 'token:read', 'read', context)
  const now = timeOf(parts, context)
  createHolding(parts, context)(storedBytes([row]))
  const ring = await parts.keys.tenant(context.caller.tenantId, [row.sealed])
  const opened = openToken(ring, row, now)
  const data = shownData(parts, row.type, opened, disclosure)
  const token = present(parts, row, opened, data, context.caller.grants)
  await parts.journal.append([doneRecord(parts, row, 'read', context, now)])
  parts.metrics.disclosed.inc({ type: row.type, purpose: 'read', disclosure })
  context.used?.add(stateOf(row, opened))
  return token
}

/** `Vault.delete`. */
export const deleteToken = async (parts: Parts, id: string, context: UseContext): Promise<void> => {
  const { row } = await findToken(parts, id, 'token:delete', 'delete', context)
  const now = timeOf(parts, context)
  // Before the row goes: afterwards nothing else would tell of it. Other changes leave their actor and time in the row.
  await parts.journal.append([doneRecord(parts, row, 'delete', context, now)])
  if (!(await parts.tokens.delete(context.caller.tenantId, id, now))) throw notFound(id)
}
