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

/** Caller whose grants apply to a call's expressions: the proxy's application for anonymous calls, else the caller itself. */
export const effectiveCaller = (
  deps: EffectiveCallerDeps,
  { caller, proxy }: Identity,
): Caller | Promise<Caller> =>
  caller.actorType === 'anonymous' ? asApplication(deps, proxy, caller) : caller

/**
 * Caller whose grants apply in a dry run, whose response shows masks. An administrator that may update proxies acts as
 * the proxy's application, because saving such a proxy takes an administrator, too (completions §4). All others act as
 * themselves.
 */
export const effectiveCallerInDryRun = (
  deps: EffectiveCallerDeps,
  { caller, proxy }: Identity,
): Caller | Promise<Caller> =>
  caller.applicationType === 'management' && isAdministrator(caller) && holds(caller, 'proxy:update')
    ? asApplication(deps, proxy, caller)
    : caller
