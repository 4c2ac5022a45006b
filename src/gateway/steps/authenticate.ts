/** Who calls the proxy, and through which stored proxy (interface, "Ephemeral proxy", "Pre-configured proxies"). */
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import type { Caller, StoredProxy } from '../../sdk/index.ts'
import type { Admitted, Identified } from '../request.ts'
import type { Step } from '../steps.ts'

const unknownProxy = () =>
  new AppError('proxy_not_found', 'No proxy has this proxy key. Check the key, or create a proxy.')

/** The caller of a proxy that asks for no key. */
const anonymous = ({ tenantId, id }: StoredProxy): Caller => ({
  tenantId,
  actorId: id,
  actorType: 'anonymous',
  grants: { permissions: [], rules: [] },
})

/**
 * Finds the caller of a request, and its stored proxy when it has a proxy key. Fails with `unauthenticated`, and with
 * `proxy_not_found` for a proxy key that is unknown or another tenant's.
 */
export const authenticate: Step<Admitted, Identified> = (admitted, { gateway, telemetry }) => {
  const { key, proxyKey, dryRun, sessionCaller } = admitted
  const { authenticator, proxies } = gateway.deps
  const identified = (caller: Caller, proxy: StoredProxy | undefined): Identified => {
    const request = { ...admitted, caller, proxy }
    telemetry.identified(request)
    return request
  }
  const withProxy = (proxy: StoredProxy | undefined): Eventual<Identified> => {
    if (proxyKey !== undefined && proxy === undefined) throw unknownProxy()
    if (proxy?.requireAuth === false && (key === undefined || !dryRun))
      return identified(anonymous(proxy), proxy)
    return whenReady(sessionCaller ?? authenticator.authenticate(key, 'token:use'), (caller) => {
      if (proxy !== undefined && proxy.tenantId !== caller.tenantId) throw unknownProxy()
      return identified(caller, proxy)
    })
  }
  return whenReady(proxyKey === undefined ? undefined : proxies.find(proxyKey), withProxy)
}
