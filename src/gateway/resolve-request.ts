/** Validates the headers of a request to the proxy (interface "Ephemeral proxy", completions §7). */
import { CONSOLE_API } from '../common/console.ts'
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import {
  type Destination,
  type Destinations,
  joinPath,
  parseSuffix,
  type Suffix,
} from '../egress/parse-url.ts'
import { BODY_ONLY, parseSurfaces } from '../egress/surfaces.ts'
import {
  type ConsoleUpstream,
  PROXY_METHODS,
  prefixHeaders,
  type Upstream,
  type WebSocketUpstream,
} from '../ext-proc/contract.ts'
import type { DestinationTls, OutboundDestination, StoredProxy, Surface } from '../sdk/index.ts'
import { isConsoleRequest, rejectBrowserNavigation, sessionOf } from './console.ts'
import { withDraftCode } from './dry-run/draft-code.ts'
import { checkHead, type Head, type HeaderRules, isFlagSet, methodOf, prefixed, single } from './headers.ts'
import type { CallHead, Identity } from './identify.ts'
import { mayHoldBraces } from './surfaces/url.ts'

export interface RequestResolver {
  readonly prefixes: HeaderRules
  readonly destinations: Destinations
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Whether the console is served on the same origin. */
  readonly hasConsole: boolean
  /** Resolves with the cluster's name when Envoy has it. */
  readonly clusterOf: (tls: DestinationTls, tenantId: string) => Promise<string>
}

export interface ResolvedRequest extends Identity {
  /** The head by which the caller was identified. */
  readonly request: CallHead
  readonly destination: Destination
  readonly upstream: Upstream | ConsoleUpstream | WebSocketUpstream
  /** Cluster of the upstreams `tls` and `console_tls`. */
  readonly cluster: string | undefined
  readonly method: string
  /** The path after `/proxy`, without proxy keys. */
  readonly suffix: Suffix
  /** `:path` at the destination, expressions included. */
  readonly path: string
  /** Surfaces whose expressions are evaluated. */
  readonly surfaces: readonly Surface[]
  /** A header, the path or the query may hold an expression. */
  readonly hasBraces: boolean
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** The request as lists of destinations see it (completions §14). */
export const outboundOf = ({ destination, method, path }: ResolvedRequest): OutboundDestination => ({
  host: destination.host,
  port: destination.port,
  method,
  path,
})

/** A stored proxy's destination, else the one in the request's header, whose bytes are UTF-8. */
const destinationOf = (
  head: Head,
  prefix: string,
  { prefixes, destinations }: RequestResolver,
  proxy: StoredProxy | undefined,
): Destination => {
  if (proxy !== undefined) return destinations.parse(proxy.destinationUrl)
  const url = prefixed(head, prefixes, 'proxyUrl')
  if (url === undefined)
    throw new AppError(
      'malformed',
      `The request names no destination. Send its base URL in the header "${prefixHeaders(prefix).proxyUrl}".`,
    )
  return destinations.parse(Buffer.from(url, 'latin1').toString('utf8'))
}

/** The cluster's name of a proxy with certificates of its own; such a proxy calls https:// destinations only. */
const clusterFor = (
  { upstream }: Destination,
  { proxy, dryRun }: Identity,
  { clusterOf }: RequestResolver,
): Eventual<string | undefined> => {
  if (proxy?.destinationTls === undefined || dryRun) return undefined
  if (upstream !== 'https')
    throw new AppError(
      'invalid_destination',
      'The proxy has client certificates, but its destination is not https://. Correct the URL, or remove the certificates.',
    )
  return clusterOf(proxy.destinationTls, proxy.tenantId)
}

/** The proxy key, in a header or in the query. Throws `malformed` for several: the author of the URL and its caller may mean different ones. */
const proxyKeyOf = (head: Head, { ofPrefixes }: HeaderRules, { proxyKeys }: Suffix): string | undefined => {
  let [key] = proxyKeys
  let isAmbiguous = proxyKeys.length > 1
  for (const own of ofPrefixes) {
    const given = single(head, own.proxyKey)
    if (given === undefined) continue
    if (key !== undefined && key !== given) isAmbiguous = true
    key = given
  }
  if (isAmbiguous)
    throw new AppError(
      'malformed',
      'The request has several proxy keys. Send one, in a header or in the query.',
    )
  return key
}

/** The surfaces of a stored proxy, else those in the request's header. Throws `malformed` and `invalid_surface`. */
const surfacesOf = (
  head: Head,
  prefix: string,
  { prefixes }: RequestResolver,
  proxy: StoredProxy | undefined,
): readonly Surface[] => {
  const sent = prefixes.ofPrefixes.some(({ evaluate }) => head.has(evaluate))
  if (!sent) return proxy?.evaluate ?? BODY_ONLY
  if (proxy !== undefined)
    throw new AppError(
      'malformed',
      `A stored proxy names its surfaces itself. Send no header "${prefixHeaders(prefix).evaluate}".`,
    )
  const given = Buffer.from(prefixed(head, prefixes, 'evaluate')?.trim() ?? '', 'latin1').toString('utf8')
  if (given === '') return []
  const texts = given.split(',').map((text) => text.trim())
  return parseSurfaces(texts, prefixes.prefixes)
}

/** The path that a call of the console is for. */
const ofProxy = (path: string): string => path.slice(CONSOLE_API.length)

const ON_PROXY = /^\/proxy(?:[/?]|$)/

/** One header line of all lines of a name. */
const joined = (values: readonly string[] | undefined): string | undefined =>
  values === undefined || values.length === 1 ? values?.[0] : values.join(', ')

const checkLength = (head: Head, { bodyLimit }: RequestResolver): void => {
  if (Number(single(head, 'content-length') ?? 0) > bodyLimit)
    throw new AppError('too_large', `The body is larger than ${bodyLimit} bytes. Send a smaller one.`)
}

const upstreamOf = ({ session }: CallHead, upstream: Upstream): Upstream | ConsoleUpstream =>
  session === undefined ? upstream : `console_${upstream}`

/** An identified request, when Envoy has its cluster. `expressions`: of its headers; the URL is looked at here. */
export const resolvedRequest = (
  head: Head,
  request: CallHead,
  identity: Identity,
  destination: Destination,
  suffix: Suffix,
  { surfaces, hasBraces }: Pick<ResolvedRequest, 'surfaces' | 'hasBraces'>,
  resolver: RequestResolver,
): Eventual<ResolvedRequest> => {
  const path = joinPath(destination, suffix)
  return whenReady(clusterFor(destination, identity, resolver), (cluster) => ({
    caller: identity.caller,
    proxy: identity.proxy,
    dryRun: identity.dryRun,
    request,
    upstream: upstreamOf(request, cluster === undefined ? destination.upstream : 'tls'),
    cluster,
    destination,
    method: single(head, ':method') ?? '',
    suffix,
    path,
    surfaces,
    hasBraces: hasBraces || mayHoldBraces(path),
    contentType: joined(head.get('content-type')),
    contentEncoding: joined(head.get('content-encoding')),
  }))
}

/**
 * The caller of a request and its destination. Fails with the error of the first check that it does not pass; the caller is
 * checked before the destination.
 */
export const resolveRequest = (
  head: Head,
  prefix: string,
  resolver: RequestResolver,
  identify: (request: CallHead) => Eventual<Identity>,
): Eventual<ResolvedRequest> => {
  const { prefixes, destinations } = resolver
  const method = methodOf(head)
  if (!PROXY_METHODS.includes(method))
    throw new AppError('method_not_allowed', 'The proxy takes GET, POST, PUT, PATCH and DELETE.', {
      allow: PROXY_METHODS,
    })
  const hasBraces = checkHead(head)
  const sent = single(head, ':path') ?? ''
  const session = isConsoleRequest(sent) ? sessionOf(head, prefixes) : undefined
  if (resolver.hasConsole && session === undefined) rejectBrowserNavigation(head)
  const requested = session === undefined ? sent : ofProxy(sent)
  if (!ON_PROXY.test(requested)) throw new Error('a request off /proxy reached the gateway')
  const suffix = parseSuffix(requested, prefixes.keyParameters)
  const request = {
    head,
    proxyKey: proxyKeyOf(head, prefixes, suffix),
    dryRun: isFlagSet(head, prefixes, 'dryRun'),
    session,
  }
  return whenReady(identify(request), (found) => {
    const identity = found.dryRun ? { ...found, proxy: withDraftCode(found.proxy, head, prefixes) } : found
    checkLength(head, resolver)
    const destination = destinationOf(head, prefix, resolver, identity.proxy)
    if (destinations.isOwn(destination, single(head, ':authority') ?? '', single(head, ':scheme') ?? ''))
      throw new AppError(
        'destination_not_allowed',
        'The destination is this gateway itself. Use another one.',
      )
    const expressions = { surfaces: surfacesOf(head, prefix, resolver, identity.proxy), hasBraces }
    return resolvedRequest(head, request, identity, destination, suffix, expressions, resolver)
  })
}
