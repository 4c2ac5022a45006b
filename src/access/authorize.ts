import { AppError } from '../common/errors.ts'
import type { Caller, Operation, Permission } from '../sdk/index.ts'

const isTokenPermission = (permission: Permission) => permission.startsWith('token:')

/**
 * Whether the caller holds the permission at all: `token:*` by a permission or by any access rule (the vault then
 * decides for each container), all others by a permission.
 */
export const holds = ({ grants }: Pick<Caller, 'grants'>, permission: Permission): boolean =>
  grants.permissions.includes(permission) ||
  (isTokenPermission(permission) && grants.rules.some((rule) => rule.permissions.includes(permission)))

/** Permissions of an administrator, who may give grants on tokens, which no management application holds. */
export const ADMINISTRATOR: readonly Permission[] = [
  'application:create',
  'application:read',
  'application:update',
  'application:delete',
]

export const isAdministrator = (caller: Pick<Caller, 'grants'>): boolean =>
  ADMINISTRATOR.every((permission) => holds(caller, permission))

/** Whether `authorize` lets the caller pass. */
export const isAuthorized = (caller: Caller, permission: Operation['permission']): boolean =>
  permission === 'none' || permission === 'any key' || holds(caller, permission)

/** Throws `forbidden` unless the caller may make a call of the API or of the proxy at all (completions §4). */
export const authorize = (caller: Caller, permission: Operation['permission']): void => {
  if (isAuthorized(caller, permission)) return
  throw new AppError(
    'forbidden',
    `This call needs the permission "${permission}", which the calling key does not have. ` +
      'Grant it to the application, or use the key of one that has it.',
  )
}
