/** Where a request goes (interface "Ephemeral proxy", "Pre-configured proxies"; completions §7). */
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { type Destination, joinPath } from '../../egress/parse-url.ts'
import { BODY_ONLY, parseSurfaces } from '../../egress/surfaces.ts'
import { prefixHeaders, type Upstream } from '../../ext-proc/contract.ts'
import type { Surface } from '../../sdk/index.ts'
import { type Head, prefixed, single, strippedNames } from '../headers.ts'
import type { Guarded, Identified, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Step } from '../steps.ts'
import { mayHoldBraces } from '../surfaces/url.ts'
import { shapeOf } from '../transform/content.ts'

/** The destination of a URL. The host of one that is denied is noted: its log line names it. */
export const parsed = (url: string, { gateway, telemetry }: RequestContext): Destination => {
  try {
    return gateway.destinations.parse(url)
  } catch (thrown) {
    if (URL.canParse(url)) telemetry.host = new URL(url).hostname
    throw thrown
  }
}

/** A stored proxy's destination, else the one in the request's header, whose bytes are UTF-8. */
const destinationOf = ({ head, proxy }: Identified, context: RequestContext): Destination => {
  const { gateway, prefix } = context
  if (proxy !== undefined) return parsed(proxy.destinationUrl, context)
  const url = prefixed(head, gateway.prefixes, 'proxyUrl')
  if (url === undefined)
    throw new AppError(
      'malformed',
      `The request names no destination. Send its base URL in the header "${prefixHeaders(prefix).proxyUrl}".`,
    )
  return parsed(Buffer.from(url, 'latin1').toString('utf8'), context)
}

/** The cluster's name of a proxy with certificates of its own; such a proxy calls https:// destinations only. */
const clusterFor = (
  { upstream }: Destination,
  { proxy, dryRun }: Identified,
  { gateway }: RequestContext,
): Eventual<string | undefined> => {
  if (proxy?.destinationTls === undefined || dryRun) return undefined
  if (upstream !== 'https')
    throw new AppError(
      'invalid_destination',
      'The proxy has client certificates, but its destination is not https://. Correct the URL, or remove the certificates.',
    )
  return gateway.deps.clusterOf(proxy.destinationTls, proxy.tenantId)
}

/** The surfaces of a stored proxy, else those in the request's header. Throws `malformed` and `invalid_surface`. */
const surfacesOf = (
  { head, proxy }: Identified,
  { gateway: { prefixes }, prefix }: RequestContext,
): readonly Surface[] => {
  if (!prefixes.ofPrefixes.some(({ evaluate }) => head.has(evaluate))) return proxy?.evaluate ?? BODY_ONLY
  if (proxy !== undefined)
    throw new AppError(
      'malformed',
      `A stored proxy names its surfaces itself. Send no header "${prefixHeaders(prefix).evaluate}".`,
    )
  const sent = Buffer.from(prefixed(head, prefixes, 'evaluate')?.trim() ?? '', 'latin1').toString('utf8')
  if (sent === '') return []
  const texts = sent.split(',').map((text) => text.trim())
  return parseSurfaces(texts, prefixes.prefixes)
}

/** One header line of all lines of a name. */
const joined = (values: readonly string[] | undefined): string | undefined =>
  values === undefined || values.length === 1 ? values?.[0] : values.join(', ')

/** A WebSocket's handshake is its hop-by-hop headers. */
const HANDSHAKE = ['connection', 'upgrade']

const strippedOf = (head: Head, request: Identified, { gateway, origin, trace }: RequestContext) => {
  const stripped = [...strippedNames(head, gateway.prefixes, request), ...trace.invalid]
  return origin?.isBodyUnread ? stripped.filter((name) => !HANDSHAKE.includes(name)) : stripped
}

/** The request to this destination, when Envoy has its cluster. */
export const resolvedTo = (
  request: Guarded,
  destination: Destination,
  surfaces: readonly Surface[],
  context: RequestContext,
): Eventual<Resolved> => {
  const { head, proxy, suffix, isConsole } = request
  const path = joinPath(destination, suffix)
  return whenReady(clusterFor(destination, request, context), (cluster) => {
    const upstream: Upstream = cluster === undefined ? destination.upstream : 'tls'
    const contentType = joined(head.get('content-type'))
    return {
      ...request,
      destination,
      upstream: isConsole ? (`console_${upstream}` as const) : upstream,
      cluster,
      path,
      surfaces,
      hasBraces: request.hasBraces || mayHoldBraces(path),
      contentType,
      contentEncoding: joined(head.get('content-encoding')),
      stripped: strippedOf(head, request, context),
      shape: proxy?.requestTransform === undefined ? undefined : shapeOf(contentType),
    }
  })
}

/** The destination of a request to `/proxy`. Fails with the error of the first check that it does not pass. */
export const resolve: Step<Guarded, Resolved> = (request, context) => {
  const { head } = request
  const destination = destinationOf(request, context)
  const { destinations } = context.gateway
  if (destinations.isOwn(destination, single(head, ':authority') ?? '', single(head, ':scheme') ?? ''))
    throw new AppError('destination_not_allowed', 'The destination is this gateway itself. Use another one.')
  return resolvedTo(request, destination, surfacesOf(request, context), context)
}
