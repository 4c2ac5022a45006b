import { holds, isAdministrator } from '../access/authorize.ts'
import { AppError } from '../common/errors.ts'
import type { Authenticator } from '../kernel/types.ts'
import type { Caller, StoredProxy } from '../sdk/index.ts'
import type { Identity } from './identify.ts'

export interface EffectiveCallerDeps {
  readonly authenticator: Authenticator
}

/** The proxy's application, else `caller`. */
const asApplication = (
  { authenticator }: EffectiveCallerDeps,
  proxy: StoredProxy | undefined,
  caller: Caller,
): Caller | Promise<Caller> => {
  if (proxy?.applicationId === undefined) return caller
  return authenticator.identify({ tenantId: proxy.tenantId, id: proxy.applicationId }).catch((thrown) => {
    // Without the application the caller stays anonymous.
    if (thrown instanceof AppError && thrown.code === 'unauthenticated') return caller
    throw thrown
  })
}

/** Whose grants a call's expressions are evaluated under. */
export const effectiveCaller = (
  deps: EffectiveCallerDeps,
  { caller, proxy }: Identity,
): Caller | Promise<Caller> =>
  caller.actorType === 'anonymous' ? asApplication(deps, proxy, caller) : caller

/**
 * The same for a dry run, whose response shows masks to its caller. Only an administrator acts as the proxy's application:
 * code of such a proxy takes one to save, too (completions §4). Everybody else acts as themselves.
 */
export const effectiveCallerInDryRun = (
  deps: EffectiveCallerDeps,
  { caller, proxy }: Identity,
): Caller | Promise<Caller> =>
  caller.applicationType === 'management' && isAdministrator(caller) && holds(caller, 'proxy:update')
    ? asApplication(deps, proxy, caller)
    : caller
