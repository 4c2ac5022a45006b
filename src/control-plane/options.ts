import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Client certificate for a destination, and the authorities that must have signed the destination's certificate. */
export interface ClientCertificate {
  /** Unique for each identity; its cluster is `clientCertificateCluster`. */
  readonly name: string
  /** Certificate chain and key, PEM. */
  readonly client?: { readonly certificate: string; readonly key: string }
  /** Authorities, PEM, instead of those of `egress.trustBundle`. */
  readonly authorities?: string
}

/** A host that the forward proxy opens, with its certificate chain and key, PEM. */
export interface ForwardHost {
  /** Lower case; `*.` and a name: every name below it. */
  readonly host: string
  readonly certificate: string
  readonly key: string
}

/** Input of Envoy's configuration. Paths may be relative: Envoy and the service share a working directory. */
export interface BootstrapOptions {
  /** `host` is an IP address or `localhost`. */
  readonly listen: { readonly host: string; readonly port: number }
  /** Ports of this service, rejected as destinations at this machine's addresses. Default: that of `listen`. */
  readonly ownPorts?: readonly number[]
  /** The listener's certificate chain and key, PEM; absent: plain HTTP/1.1 and HTTP/2 with prior knowledge. */
  readonly tls?: { readonly certificate: string; readonly key: string }
  /** The forward proxy; absent: no listener. */
  readonly forward?: {
    readonly listen: { readonly host: string; readonly port: number }
    /** With the certificate of `tls`. */
    readonly tls: boolean
    readonly hosts: readonly ForwardHost[]
  }
  /** Whether `/console/api/proxy` is served. Default false. */
  readonly console?: boolean
  /** Whether `/proxy` is served: this node has gateways. Default true. */
  readonly proxy?: boolean
  /** Unix sockets of the gateway processes. */
  readonly gatewaySockets: readonly string[]
  /** Unix sockets of the same processes for the log of their calls. Default: there is none. */
  readonly gatewayLogSockets?: readonly string[]
  /** Unix socket of the admin process: every path but `/proxy`. */
  readonly apiSocket: string
  /** Unix socket of the admin process for gRPC (by content type); absent: no gRPC. */
  readonly grpcSocket?: string
  /** Unix socket of Envoy's own administration interface. */
  readonly envoyAdminSocket: string
  /** Bytes of memory above which Envoy rejects requests. Default 1 GiB. */
  readonly memoryBytes?: number
  /** Header prefixes, the first one canonical, in any letter case. */
  readonly prefixes: readonly string[]
  readonly egress: {
    /** CIDR blocks outside the public internet that destinations may have. */
    readonly allow: readonly string[]
    readonly http: boolean
    /** PEM file of the authorities trusted for destinations (`writeTrustBundle`). */
    readonly trustBundle: string
    /** Timeout of the start of a destination's response (408). Default 25,000. */
    readonly timeoutMs?: number
    /** Addresses of this machine, rejected together with `ownPorts`. Default: those of its interfaces. */
    readonly ownAddresses?: readonly string[]
    /** Name servers instead of the system's. */
    readonly resolvers?: readonly { readonly address: string; readonly port: number }[]
  }
  /** Certificates of stored proxies. */
  readonly identities?: readonly ClientCertificate[]
  /** The demo destination: TLS over a unix socket, verified against an authority of its own. */
  readonly demo?: { readonly socket: string; readonly authority: string; readonly host: string }
  /** Bytes of a proxied body, before and after tokens are replaced. Default 8 MiB. */
  readonly bodyLimit?: number
  /** Timeout of one reply of a gateway process (504). Default 15,000. */
  readonly gatewayTimeoutMs?: number
  /** Timeout of the admin process (504). Default 60,000. */
  readonly apiTimeoutMs?: number
  /** Timeout of a complete request (408). Default 120,000. */
  readonly requestTimeoutMs?: number
  /** Timeout of a streamed request; at least `requestTimeoutMs`. Default 900,000. */
  readonly uploadTimeoutMs?: number
  /** Pass the client's address to the gateway and admin processes, for rate limits. Default false. */
  readonly clientAddress?: boolean
  /** JSON lines of route, status, flags, trace id and time on standard error. Default `failures`. */
  readonly accessLog?: 'failures' | 'all'
}

export interface Settings extends BootstrapOptions {
  readonly prefixes: readonly [string, ...string[]]
  readonly bodyLimit: number
  readonly gatewayTimeoutMs: number
  readonly apiTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly uploadTimeoutMs: number
  readonly destinationTimeoutMs: number
  readonly clientAddress: boolean
  readonly ownAddresses: readonly string[]
}

const PREFIX = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/
const SOCKET_PATH_BYTES = 107

/** An IPv4 address or block as IPv4-mapped IPv6. */
const mapped = (block: string): string => {
  const [address, length = '32'] = block.split('/')
  return `::ffff:${address}/${96 + Number(length)}`
}

/** Addresses and blocks of this machine. */
export const machineAddresses = (): readonly string[] =>
  [
    '127.0.0.0/8',
    '::1',
    ...Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address }) => address.replace(/%.*$/, '')),
  ].flatMap((block) => (block.includes(':') ? [block] : [block, mapped(block)]))

/** Applies defaults. Throws an Error for an invalid option: a header prefix, a socket path. */
export const settle = (options: BootstrapOptions): Settings => {
  const [canonical, ...others] = [...new Set(options.prefixes.map((prefix) => prefix.toLowerCase()))]
  if (canonical === undefined) throw new Error('at least one header prefix is needed')
  for (const prefix of [canonical, ...others])
    if (!PREFIX.test(prefix)) throw new Error(`"${prefix}" cannot be a header prefix`)
  if (options.gatewaySockets.length === 0) throw new Error('at least one gateway socket is needed')
  const listen = { ...options.listen }
  if (listen.host === 'localhost') listen.host = '127.0.0.1'
  if (isIP(listen.host) === 0) throw new Error(`"${listen.host}" is not an IP address to listen on`)
  const forward = options.forward && { ...options.forward, listen: { ...options.forward.listen } }
  if (forward?.listen.host === 'localhost') forward.listen.host = '127.0.0.1'
  const sockets = [
    ...options.gatewaySockets,
    ...(options.gatewayLogSockets ?? []),
    options.apiSocket,
    options.envoyAdminSocket,
  ]
  if (options.grpcSocket !== undefined) sockets.push(options.grpcSocket)
  if (options.demo) sockets.push(options.demo.socket)
  for (const socket of sockets)
    if (Buffer.byteLength(socket) > SOCKET_PATH_BYTES)
      throw new Error(`the socket path "${socket}" is longer than ${SOCKET_PATH_BYTES} bytes`)
  const requestTimeoutMs = options.requestTimeoutMs ?? 120_000
  return {
    ...options,
    listen,
    ...(forward === undefined ? {} : { forward }),
    prefixes: [canonical, ...others],
    bodyLimit: options.bodyLimit ?? 8 * 1024 * 1024,
    gatewayTimeoutMs: options.gatewayTimeoutMs ?? 15_000,
    apiTimeoutMs: options.apiTimeoutMs ?? 60_000,
    requestTimeoutMs,
    uploadTimeoutMs: Math.max(options.uploadTimeoutMs ?? 900_000, requestTimeoutMs),
    clientAddress: options.clientAddress ?? false,
    destinationTimeoutMs: options.egress.timeoutMs ?? 25_000,
    ownAddresses: options.egress.ownAddresses ?? machineAddresses(),
  }
}

/** Link-local addresses of IPv6 cannot be dialed without their zone, and come and go with containers. */
const LINK_LOCAL = /^fe[89ab]/i

/** ms between two checks of `hasNewAddress`. */
export const ADDRESSES_MS = 60_000

/** True if this machine has an address that is not among these. */
export const hasNewAddress = (known: readonly string[]): boolean =>
  machineAddresses().some((address) => !known.includes(address) && !LINK_LOCAL.test(address))

/** Milliseconds as protobuf's JSON duration. */
export const duration = (ms: number): string => `${ms / 1000}s`
