/** Validates the headers of a request inside a tunnel of the forward proxy (completions §15). */
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { parseSuffix } from '../../egress/parse-url.ts'
import { BODY_ONLY } from '../../egress/surfaces.ts'
import { ATTRIBUTES } from '../../ext-proc/contract.ts'
import { checkHead, type Head, methodOf, single } from '../headers.ts'
import type { CallHead, Identity } from '../identify.ts'
import { type RequestResolver, type ResolvedRequest, resolvedRequest } from '../resolve-request.ts'
import { type Origin, type Tunnel, tunnelOf } from './tunnel.ts'

/** CONNECT would nest tunnels; TRACE would show what the destination got. */
const NOT_ALLOWED = ['CONNECT', 'TRACE']

const misdirected = () =>
  new AppError(
    'misdirected',
    'The request is for another host than its tunnel. Open a tunnel for each host and port.',
  )

const authorityOf = ({ host, port }: Tunnel): string => (port === 443 ? host : `${host}:${port}`)

/** Headers of a request with a body, which would pass the gateway by. */
const OF_BODIES = ['content-length', 'content-type']

/**
 * Throws `malformed` for a WebSocket handshake with a body, or through a proxy whose code it would bypass or whose
 * certificates it cannot have: their connections may be HTTP/2, which Envoy does not upgrade.
 */
const checkHandshake = (head: Head, method: string, { proxy }: Identity): void => {
  if (method !== 'GET' || OF_BODIES.some((name) => head.has(name)))
    throw new AppError('malformed', 'A WebSocket handshake must be a GET without a body.')
  if (proxy?.requestTransform !== undefined || proxy?.responseTransform !== undefined)
    throw new AppError(
      'malformed',
      'The proxy has a transform, which a WebSocket would bypass. Use a proxy without one.',
    )
  if (proxy?.destinationTls !== undefined)
    throw new AppError(
      'malformed',
      'The proxy has certificates (destination_tls), with which a WebSocket does not work. Use a proxy without them.',
    )
}

/** A host and port in the form of `Destination.authority`. */
const normalized = (authority: string): string =>
  authority
    .toLowerCase()
    .replace(/^([^:]+|\[[^\]]+\]):443$/, '$1')
    .replace(/\.(?=$|:)/, '')

/**
 * The caller of a request inside a tunnel and its destination, which is that of the tunnel. Fails with the error of the
 * first check that it does not pass.
 */
export const resolveTunneled = (
  head: Head,
  origin: Origin,
  resolver: RequestResolver,
  identify: (request: CallHead) => Eventual<Identity>,
): Eventual<ResolvedRequest> => {
  const method = methodOf(head)
  if (NOT_ALLOWED.includes(method))
    throw new AppError(
      'method_not_allowed',
      `${method} is not allowed inside a tunnel. Send the request itself.`,
      {
        allow: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      },
    )
  const hasBraces = checkHead(head)
  const tunnel = tunnelOf(origin)
  const authority = normalized(single(head, ':authority') ?? '')
  const serverName = origin.attributes.get(ATTRIBUTES.serverName)?.toLowerCase()
  if (serverName !== tunnel.host || authority !== authorityOf(tunnel)) throw misdirected()
  const suffix = parseSuffix(single(head, ':path') ?? '', [], 0)
  const request = { head, proxyKey: undefined, dryRun: false, tunnel: { ...tunnel, path: suffix.path } }
  return whenReady(identify(request), (identity) => {
    if (origin.isBodyUnread) checkHandshake(head, method, identity)
    const url = identity.proxy?.destinationUrl ?? `https://${authorityOf(tunnel)}`
    const destination = resolver.destinations.parse(url)
    // Both are stored by other rules than those of the binding.
    if (destination.authority !== authorityOf(tunnel)) throw misdirected()
    const inside = { ...suffix, path: identity.rest ?? suffix.path }
    const surfaces = identity.proxy?.evaluate ?? identity.surfaces ?? BODY_ONLY
    const expressions = { surfaces, hasBraces }
    const resolving = resolvedRequest(head, request, identity, destination, inside, expressions, resolver)
    if (!origin.isBodyUnread || destination.upstream !== 'https') return resolving
    return whenReady(resolving, (resolved) =>
      resolved.upstream === 'tls' ? resolved : { ...resolved, upstream: 'websocket' },
    )
  })
}
