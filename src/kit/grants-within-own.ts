import { ADMINISTRATOR, holds, isAdministrator } from '../access/authorize.ts'
import { isoTime } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { ApplicationType, Caller, Grants, PluginContext } from '../sdk/index.ts'

/**
 * Throws `forbidden` unless the caller may grant what an application of this type holds, or will hold. `until`: the end
 * of that application in ms since the epoch, Infinity without one; absent: the caller gets no key of it.
 */
export type GrantCheck = (type: ApplicationType, grants: Pick<Grants, 'permissions'>, until?: number) => void

/** When the caller's key ends, ms since the epoch; Infinity: it does not. */
export const endOf = async (
  context: Pick<PluginContext, 'port'>,
  { tenantId, applicationId = '', keyId }: Caller,
): Promise<number> =>
  (await context.port('applications')?.credential(tenantId, applicationId, keyId))?.expiresAt ?? Infinity

/** Whether the tenant lets callers grant more than they hold. */
export const isOff = async (
  context: Pick<PluginContext, 'tenants'>,
  { tenantId }: Caller,
): Promise<boolean> => (await context.tenants.get(tenantId))?.settings.grants_within_own === 'false'

/**
 * Throws `forbidden` unless the caller may save code of a proxy that intercepts (completions §4): it runs for callers
 * that did not name the proxy, and gets the values that they may use.
 */
export const checkInterceptingCode = async (
  context: Pick<PluginContext, 'tenants'>,
  caller: Caller,
): Promise<void> => {
  if (isAdministrator(caller) || (await isOff(context, caller))) return
  throw new AppError(
    'forbidden',
    `Code of a proxy that intercepts gets values of every application that calls its host, so saving it needs a caller that holds ${ADMINISTRATOR.join(', ')}. Use the key of such an application.`,
  )
}

/**
 * The rule of the tenant's setting `grants_within_own` (completions §4): a caller grants only what it holds, for no
 * longer. Permissions of management applications are granted by callers that hold them, grants on tokens by
 * administrators.
 */
export const createGrantCheck = async (
  context: Pick<PluginContext, 'tenants' | 'port'>,
  caller: Caller,
): Promise<GrantCheck> => {
  if (await isOff(context, caller)) return () => {}
  const end = await endOf(context, caller)
  return (type, { permissions }, until = 0) => {
    if (until > end)
      throw new AppError(
        'forbidden',
        `The calling application expires at ${isoTime(end)}, so it gives nothing to one that lives longer. Set an earlier "expires_at", or use the key of one that does not expire.`,
      )
    if (type !== 'management') {
      if (isAdministrator(caller)) return
      throw new AppError(
        'forbidden',
        `Grants on tokens need a caller that holds ${ADMINISTRATOR.join(', ')}. Use the key of such an application.`,
      )
    }
    const beyond = permissions.filter((permission) => !holds(caller, permission))
    if (beyond.length > 0)
      throw new AppError(
        'forbidden',
        `The calling application does not hold ${beyond.join(', ')}, so it cannot grant it. Use the key of one that does.`,
      )
  }
}
