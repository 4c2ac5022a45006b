/** Where a request inside a tunnel goes: to the tunnel's host (completions §15). */
import { whenReady } from '../../common/eventual.ts'
import { BODY_ONLY } from '../../egress/surfaces.ts'
import { authorityOf } from '../forward/tunnel.ts'
import type { GuardedInTunnel, Resolved } from '../request.ts'
import type { Step } from '../steps.ts'
import { misdirected } from './accept-tunneled.ts'
import { resolvedTo } from './resolve.ts'

/** The tunnel's destination. Fails with `misdirected` when the stored proxy is for another one. */
export const resolveTunneled: Step<GuardedInTunnel, Resolved> = (request, context) => {
  const { tunnel, proxy, rest, boundSurfaces, suffix } = request
  const url = proxy?.destinationUrl ?? `https://${authorityOf(tunnel)}`
  const destination = context.gateway.destinations.parse(url)
  // Both are stored by other rules than those of the binding.
  if (destination.authority !== authorityOf(tunnel)) throw misdirected()
  const inside = { ...request, suffix: { ...suffix, path: rest ?? suffix.path } }
  const surfaces = proxy?.evaluate ?? boundSurfaces ?? BODY_ONLY
  const resolving = resolvedTo(inside, destination, surfaces, context)
  if (!context.origin?.isBodyUnread || destination.upstream !== 'https') return resolving
  return whenReady(resolving, (resolved) =>
    resolved.upstream === 'tls' ? resolved : { ...resolved, upstream: 'websocket' },
  )
}
