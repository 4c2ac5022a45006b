import { AppError } from '../common/errors.ts'
import type { ApplicationType, Caller, Grants } from './access.ts'
import type { PluginContext } from './plugin.ts'

/** Who holds all of these is an administrator: grants on tokens, which no management application holds, are theirs to give. */
const ADMINISTRATOR = ['application:create', 'application:read', 'application:update', 'application:delete']

export const isAdministrator = ({ grants }: Pick<Caller, 'grants'>): boolean =>
  ADMINISTRATOR.every((permission) => grants.permissions.includes(permission))

/** Throws `forbidden` unless the caller may give what an application of this type holds, or is to hold, out of its hand. */
export type MayHandOut = (type: ApplicationType, grants: Pick<Grants, 'permissions'>) => void

/**
 * The rule of the tenant's setting `grants_within_own` (completions §4): nobody hands out more than they hold. Permissions
 * of management applications are given by those who hold them, all on tokens by administrators.
 */
export const handingOut = async (
  kernel: Pick<PluginContext, 'tenants'>,
  caller: Caller,
): Promise<MayHandOut> => {
  const tenant = await kernel.tenants.get(caller.tenantId)
  if (tenant?.settings.grants_within_own === 'false') return () => {}
  return (type, { permissions }) => {
    if (type !== 'management') {
      if (isAdministrator(caller)) return
      throw new AppError(
        'forbidden',
        `What tokens are protected by is handed out by those only who hold ${ADMINISTRATOR.join(', ')}. Use the key of such an application.`,
      )
    }
    const beyond = permissions.filter((permission) => !caller.grants.permissions.includes(permission))
    if (beyond.length > 0)
      throw new AppError(
        'forbidden',
        `The calling application does not hold ${beyond.join(', ')}, so it cannot hand it out. Use the key of one that does.`,
      )
  }
}
