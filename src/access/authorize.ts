import { AppError } from '../common/errors.ts'
import type { Caller, KeyClass, Operation, Permission } from '../sdk/index.ts'

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

/** Whether an operation asks for a key, or for none, and not for a permission. */
export const isKeyClass = (permission: Operation['permission']): permission is KeyClass =>
  ['none', 'any key', 'public key', 'private key'].includes(permission)

/** Whether `authorize` lets the caller pass. */
export const isAuthorized = (caller: Caller, permission: Operation['permission']): boolean => {
  if (permission === 'none' || permission === 'any key') return true
  if (!isKeyClass(permission)) return holds(caller, permission)
  return caller.actorType === 'application' && permission === `${caller.applicationType} key`
}

/** Throws `forbidden` unless the caller may make a call of the API or of the proxy at all (completions §4). */
export const authorize = (caller: Caller, permission: Operation['permission']): void => {
  if (isAuthorized(caller, permission)) return
  if (isKeyClass(permission))
    throw new AppError(
      'forbidden',
      `This call needs the key of a ${permission.replace(' key', '')} application. Use such a key.`,
    )
  throw new AppError(
    'forbidden',
    `This call needs the permission "${permission}", which the calling key does not have. ` +
      'Grant it to the application, or use the key of one that has it.',
  )
}
