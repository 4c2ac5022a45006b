import type { Agent, Dispatcher } from 'undici'
import { parseCidr } from '../common/cidr.ts'
import { codingsOf, decode } from '../common/decode-content.ts'
import { AppError, codeOf } from '../common/errors.ts'
import { isConnectionHeader } from '../common/http-headers.ts'
import type { OutboundRequest, OutboundResponse, PluginContext } from '../sdk/index.ts'
import { createAddresses } from './addresses.ts'
import { createAgents } from './agents.ts'
import type { OwnListener } from './envoy-filter.ts'
import { parseDestination } from './parse-url.ts'
import { type Hop, isRedirect, redirected } from './redirect.ts'
import { createResolve } from './resolve.ts'

interface OutboundOptions {
  readonly egress: {
    readonly allow: readonly string[]
    readonly ports: readonly number[] | '*'
    readonly http: boolean
    readonly resolvers: readonly { readonly address: string; readonly port: number }[]
  }
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  readonly own?: OwnListener | undefined
  /** Timeout until the response starts, and between its chunks, ms. */
  readonly timeoutMs: number
}

export interface Outbound {
  readonly fetch: PluginContext['fetch']
  close(): Promise<void>
}

export const MAX_REDIRECTS = 5
/** Maximum bytes of a body, sent or received, encoded or decoded. */
export const BODY_BYTES = 5 * 1024 * 1024
const URL_LENGTH = 8_192

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const invalidRequest = (detail: string) => new AppError('invalid', `The request cannot be sent: ${detail}.`)

const tooLarge = () =>
  new AppError('too_large', `The body is larger than ${BODY_BYTES} bytes. Send or request less.`)

/** The error of a failed request. Contains nothing of what was sent. */
const failure = (thrown: unknown, signal: AbortSignal): AppError => {
  if (thrown instanceof AppError) return thrown
  if (signal.aborted) return new AppError('gateway_timeout', 'The request was aborted before the response.')
  const code = codeOf(thrown)
  if (/TIMEOUT/.test(code))
    return new AppError('destination_timeout', 'The destination did not respond in time. Retry later.')
  if (/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)/.test(code) || thrown instanceof TypeError)
    return invalidRequest('a header or its method is not valid')
  return new AppError(
    'destination_unreachable',
    `The destination could not be reached${/^[A-Z_]{3,50}$/.test(code) ? ` (${code})` : ''}. Check the URL, its certificate and its state.`,
  )
}

type OnBytes = (bytes: number) => void

const readBody = async (body: AsyncIterable<Uint8Array>, onBytes: OnBytes): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > BODY_BYTES) throw tooLarge()
    onBytes(chunk.length)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const headerPairs = (headers: Dispatcher.ResponseData['headers']): (readonly [string, string])[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : (Array.isArray(value) ? value : [value]).map((each): [string, string] => [name.toLowerCase(), each]),
  )

/**
 * Requests of code and of the service itself, under the egress rules of the proxy (completions §7): scheme, name and
 * port are checked first, addresses when they are dialed, and each redirect like a new URL. Rejects with `invalid`,
 * `invalid_destination`, `destination_not_allowed`, `destination_unreachable`, `destination_timeout`, `too_large`,
 * `gateway_timeout` if `signal` fires, `rate_limited` beyond the tenant's share of requests.
 */
export const createOutbound = ({ egress, trust, own, timeoutMs }: OutboundOptions): Outbound => {
  const policy = { allow: egress.allow.map(parseCidr), ports: egress.ports, http: egress.http }
  const addresses = createAddresses(createResolve(egress.resolvers), { allow: egress.allow, own })
  const agents = createAgents(addresses, { trust, timeoutMs })

  const urlOf = (text: string, base?: string): Pick<Hop, 'url' | 'dialed'> => {
    if (text.length > URL_LENGTH) throw new AppError('invalid_destination', 'The URL is too long.')
    const url = URL.parse(text, base)
    if (url === null) throw new AppError('invalid_destination', 'The URL is not absolute.')
    if (url.username !== '' || url.password !== '')
      throw new AppError('invalid_destination', 'The URL contains user information. Send it in a header.')
    return { url, dialed: parseDestination(`${url.protocol}//${url.host}`, policy) }
  }

  const send = async (agent: Agent, { url, method, headers, body }: Hop, signal: AbortSignal) => {
    const sent = headers.filter(([name]) => !isConnectionHeader(name))
    const has = (wanted: string) => sent.some(([name]) => name.toLowerCase() === wanted)
    const defaults = [
      ...(has('accept') ? [] : ['accept', '*/*']),
      ...(has('accept-encoding') ? [] : ['accept-encoding', 'gzip, deflate, br']),
    ]
    return agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: method as Dispatcher.HttpMethod,
      headers: [...sent.flat(), ...defaults],
      body: body ?? null,
      signal,
    })
  }

  const read = async (
    { url }: Hop,
    { statusCode, statusText, headers, body }: Dispatcher.ResponseData,
    hops: number,
    onBytes: OnBytes,
  ): Promise<OutboundResponse> => {
    const bytes = await readBody(body, onBytes)
    const pairs = headerPairs(headers)
    const encoding = pairs.filter(([name]) => name === 'content-encoding').map(([, value]) => value)
    const codings = codingsOf(encoding.join(','))
    const decoded = codings !== undefined && codings.length > 0 && bytes.length > 0
    const content = decoded ? await decode(bytes, codings, BODY_BYTES) : bytes
    if (content.length > bytes.length) onBytes(content.length - bytes.length)
    const dropped = decoded ? ['content-encoding', 'content-length'] : []
    return {
      status: statusCode,
      statusText: statusText ?? '',
      url: url.href,
      redirected: hops > 0,
      headers: pairs.filter(([name]) => !dropped.includes(name)),
      body: content,
    }
  }

  const follow = async (
    agent: Agent,
    first: Hop,
    {
      followRedirects: mayFollow = false,
      allowCrossOriginBody = false,
      onBytes = () => {},
      check,
    }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<OutboundResponse> => {
    let hop = first
    for (let hops = 0; ; hops++) {
      check?.({ ...hop.dialed, method: hop.method, path: hop.url.pathname })
      const response = await send(agent, hop, signal)
      const { location } = response.headers
      if (!mayFollow || !isRedirect(response.statusCode) || typeof location !== 'string')
        return read(hop, response, hops, onBytes)
      await response.body.dump({ limit: 64 * 1024, signal })
      if (hops === MAX_REDIRECTS)
        throw new AppError('destination_unreachable', `The destination redirected ${hops + 1} times.`)
      hop = redirected(hop, response.statusCode, urlOf(location, hop.url.href), allowCrossOriginBody)
    }
  }

  return {
    fetch: async (request: OutboundRequest, signal) => {
      const { method = 'GET', headers = [], body, tenantId = '' } = request
      const verb = method.toUpperCase()
      if (!METHODS.includes(verb)) throw invalidRequest(`its method is not one of ${METHODS.join(', ')}`)
      if (body !== undefined && Buffer.byteLength(body) > BODY_BYTES) throw tooLarge()
      if (body !== undefined && (verb === 'GET' || verb === 'HEAD'))
        throw invalidRequest(`a ${verb} request has no body`)
      try {
        const hop = { ...urlOf(request.url), method: verb, headers, body }
        return await agents.use(tenantId, (agent) => follow(agent, hop, request, signal))
      } catch (thrown) {
        throw failure(thrown, signal)
      }
    },
    close: () => agents.close(),
  }
}
