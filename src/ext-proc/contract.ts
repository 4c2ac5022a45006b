/**
 * Contract between Envoy's configuration and the gateway. The routing identity of a request is in Envoy's dynamic
 * metadata under this namespace, which no client can set (docs/security-model.md, "Egress").
 */
export const METADATA = 'sidevault.proxy'

/**
 * Cluster of a released request. Absent: the request is held and goes nowhere. `tls`: the cluster of a stored proxy
 * with certificates of its own, which `CLUSTER_HEADER` names.
 */
export type Upstream = 'https' | 'http' | 'demo' | 'tls'

/** Cluster of a console call: on routes whose responses are guarded. */
export type ConsoleUpstream = `console_${Upstream}`

/**
 * Cluster of a request with a streamed body. `dialed_*` go to the address that the gateway has resolved, at
 * once: Envoy 1.40 truncates a body when it resolves a name while pieces arrive (envoy/README.md, "Uploads").
 */
export type UploadUpstream = 'dialed_https' | 'dialed_http' | 'demo'

/** Cluster of a WebSocket, which needs HTTP/1.1 at the destination. */
export type WebSocketUpstream = 'websocket'

/** Members of the namespace that the gateway sets. Envoy merges the members of several replies. */
export interface ExchangeMetadata {
  /** The gateway holds the request: it never falls through to the API, whatever its path. */
  readonly active?: true
  /** The gateway holds a console request; set in the place of `active`. */
  readonly console?: true
  /** The gate: set with the last reply only, which carries the replaced body (envoy/README.md). */
  readonly upstream?: Upstream | ConsoleUpstream | UploadUpstream | WebSocketUpstream
  /** The gate of a CONNECT: opened with our certificate, or passed to `address` unopened. */
  readonly connect?: 'open' | 'tunnel'
  /** Identity of an opened tunnel (`Tunnel`), and a text that no other has: Envoy shares no connection between two. */
  readonly tunnel?: string
  readonly nonce?: string
  /** Address for `dialed_*` and `tunnel`: `<address>:<port>`. */
  readonly address?: string
  /** Lower-case prefix of the response's headers. */
  readonly prefix?: string
  /** The destination's status. Envoy's local replies carry it too. */
  readonly destination_status?: string
  /** Which gateway process has the request, and what it knows it by: both come back in the log of the call. */
  readonly worker?: string
  readonly call?: string
  /** The local reply is the gateway's own and is left as it is. */
  readonly reply?: true
}

/**
 * What became of a request (completions §7). `answered`: the status line of the destination came. `not_sent`: no byte
 * of the request reached a destination. `unknown`: bytes went, and no response came.
 */
export type Outcome = 'answered' | 'not_sent' | 'unknown'

/** Filter chains of the forward proxy. By these the gateway knows which listener a request came to. */
export const FORWARD_CHAINS = { connect: 'forward_outer', requests: 'forward_http' } as const

/** Filter state of a tunnel, as metadata of CONNECT becomes it and as the requests inside have it. */
export const TUNNEL_STATE = {
  identity: 'sidevault.in.tunnel',
  serverName: 'sidevault.in.sni',
} as const

/** Attributes of a request's first message. */
export const ATTRIBUTES = {
  chain: 'xds.filter_chain_name',
  tunnel: `filter_state['${TUNNEL_STATE.identity}']`,
  serverName: `filter_state['${TUNNEL_STATE.serverName}']`,
} as const

/**
 * Names a cluster, on requests with the metadata `upstream: tls` or `console_tls` only. It is removed from client
 * requests before any filter runs, and removed before the request is forwarded: only the gateway sets it.
 */
export const CLUSTER_HEADER = 'x-sidevault-cluster'

/** Prefix of the names of these clusters, and of no others. */
export const IDENTITY_PREFIX = 'destination_tls_'

/** The five methods of `/proxy` (interface "Ephemeral proxy"). */
export const PROXY_METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Header limits of `/proxy`: lines besides those that Envoy and the gateway add, and KiB. */
export const HEADER_LINES = 100
export const HEADER_KIB = 60

/** Header names of a prefix in lower case, as inside Envoy (completions §1). */
export const prefixHeaders = (prefix: string) =>
  ({
    apiKey: `${prefix}-api-key`,
    proxyKey: `${prefix}-proxy-key`,
    proxyUrl: `${prefix}-proxy-url`,
    evaluate: `${prefix}-proxy-evaluate`,
    dryRun: `${prefix}-proxy-dry-run`,
    dryRunResponse: `${prefix}-proxy-dry-run-response`,
    dryRunCode: `${prefix}-proxy-dry-run-code`,
    stream: `${prefix}-proxy-stream`,
    guard: `${prefix}-proxy-guard`,
    idempotencyKey: `${prefix}-idempotency-key`,
    traceId: `${prefix}-trace-id`,
    destinationStatus: `${prefix}-proxy-destination-status`,
    outcome: `${prefix}-proxy-outcome`,
  }) as const
