/** CONNECT on the forward proxy: where to, and whether we open it (completions §15). */
import { AppError } from '../../common/errors.ts'
import { newId } from '../../common/ids.ts'
import { TUNNEL_BYTES } from '../../control-plane/limits.ts'
import type { Destination } from '../../egress/parse-url.ts'
import { asProxyAuthentication } from '../forward/credentials.ts'
import { encodeTunnel } from '../forward/tunnel.ts'
import { single } from '../headers.ts'
import type { Admitted } from '../request.ts'
import { type Accepted, type Identified, ownerOf } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { first } from '../steps.ts'
import type { ExtProcReply } from '../types.ts'
import { authenticate } from './authenticate.ts'
import { authorizeCaller } from './authorize.ts'
import { parsed } from './resolve.ts'

/** A CONNECT whose target is known, and what binds it. */
interface Target extends Identified {
  readonly host: string
  readonly port: number
  readonly isOpened: boolean
}

const AUTHORITY = /^[^/?#@\\%]+$/

const denied = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `The host "${host}" is not bound for this application. Bind it with "intercept" of a stored proxy, or with "destinations".`,
  )

/** Where to, in the form that everything inside is compared with. Throws as the parser of URLs does. */
const destinationOf = ({ head }: Accepted, context: RequestContext): Destination => {
  const authority = single(head, ':authority') ?? ''
  if (!AUTHORITY.test(authority))
    throw new AppError('malformed', 'The target of CONNECT is not a host and a port. Send "host:port".')
  return parsed(`https://${authority}`, context)
}

const authorized = first(authenticate).next(authorizeCaller)

/**
 * The caller of a CONNECT, whose key is in `proxy-authorization`. Fails with `proxy_authentication_required` for an
 * unknown one.
 */
export const authenticateConnect = async (
  request: Admitted,
  context: RequestContext,
): Promise<Identified> => {
  try {
    return await authorized(request, context)
  } catch (thrown) {
    throw asProxyAuthentication(thrown)
  }
}

/**
 * The target, and whether it is opened or passed on unopened. Fails with `destination_not_allowed` when it is neither.
 */
export const bindConnect = async (request: Identified, context: RequestContext): Promise<Target> => {
  const { host, port } = destinationOf(request, context)
  context.telemetry.host = host
  const { bindings } = context.gateway.deps
  const binding = await bindings?.connect(request.caller, host.replace(/^\[(.*)\]$/, '$1'), port)
  if (binding === undefined || binding === 'deny') throw denied(host)
  return { ...request, host, port, isOpened: binding === 'open' }
}

/** A tunnel holds memory of Envoy to its end. Throws `rate_limited` when its owner has its share. */
export const takeShareOfTunnel = (target: Target, { isClosed, memory }: RequestContext): Target => {
  if (!isClosed) memory.take(ownerOf(target.caller), target.isOpened ? TUNNEL_BYTES : 0)
  return target
}

/**
 * A text that no other tunnel has, although a caller may choose its trace id: Envoy shares no connection between two.
 * The access log cuts it to the trace id.
 */
const nonceOf = (traceId: string): string => `${traceId}-${newId()}`

/** Opens the tunnel with our certificate, or passes it on, after a record, to an address that was checked. */
export const openTunnel = async (target: Target, context: RequestContext): Promise<ExtProcReply> => {
  const { host, port, address } = target
  const { gateway, telemetry, prefix, traceHeader, trace } = context
  const reply = { kind: 'connect', prefix, traceHeader, traceId: trace.id, nonce: nonceOf(trace.id) } as const
  if (target.isOpened) {
    telemetry.finish('opened')
    return { ...reply, tunnel: encodeTunnel({ key: String(target.key), host, port, address }) }
  }
  const dialed = await gateway.deps.dial(host, port)
  await telemetry.tunneled(target)
  telemetry.released('tunneled')
  return { ...reply, address: dialed, mark: context.expectEnd() }
}
