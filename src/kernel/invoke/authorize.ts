import { AppError } from '../../common/errors.ts'
import type { Caller, Operation, Permission } from '../../sdk/index.ts'

const isTokenPermission = (permission: Permission) => permission.startsWith('token:')

/**
 * True when the caller holds the permission somewhere: `token:*` by a permission or by any access rule (the vault then
 * decides per container), all others by a permission.
 */
const holds = (caller: Caller, permission: Permission): boolean =>
  caller.grants.permissions.includes(permission) ||
  (isTokenPermission(permission) && caller.grants.rules.some((rule) => rule.permissions.includes(permission)))

/** Throws `forbidden` unless the caller may call the operation at all (completions §4). */
export const authorize = (operation: Pick<Operation, 'permission'>, caller: Caller): void => {
  const { permission } = operation
  if (permission === 'none' || permission === 'any key' || holds(caller, permission)) return
  throw new AppError(
    'forbidden',
    `This call needs the permission "${permission}", which the calling key does not have. ` +
      'Grant it to the application, or use the key of one that has it.',
  )
}
