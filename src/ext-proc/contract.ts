/**
 * What Envoy's configuration and the gateway agree on. The routing identity of a request lives in Envoy's dynamic
 * metadata under this namespace, which no client can set (docs/security-model.md, "Egress").
 */
export const METADATA = 'sidevault.proxy'

/**
 * Which cluster a released request goes to. Absent: the request is held and goes nowhere. `tls`: that of a stored proxy
 * with certificates of its own, which `CLUSTER_HEADER` names.
 */
export type Upstream = 'https' | 'http' | 'demo' | 'tls'

/**
 * The same for a request whose body goes on in pieces; `dialed_*` go to the address that the gateway has looked up, at
 * once: Envoy 1.40 ends a body in the middle when it waits for a name while pieces come (envoy/README.md, "Uploads").
 */
export type UploadUpstream = 'dialed_https' | 'dialed_http' | 'demo'

/** What the gateway may write into the namespace. Members of several answers are merged by Envoy. */
export interface ExchangeMetadata {
  /** The request is in the gateway's hands: whatever its path now says, it never falls through to our own API. */
  readonly active?: true
  /** Given with the last answer only, the one that carries the replaced body: the gate (envoy/README.md). */
  readonly upstream?: Upstream | UploadUpstream
  /** Where `dialed_*` goes: `<address>:<port>`. */
  readonly address?: string
  /** Lower-case brand whose spelling the answer's headers use. */
  readonly prefix?: string
  /** What the destination answered, once it has: told also with an answer that Envoy then makes itself. */
  readonly destination_status?: string
  /** The local reply is the gateway's own and is left as it is. */
  readonly reply?: true
}

/**
 * Names a cluster, on requests with the metadata `upstream: tls` only. It is taken off whatever a caller sends before any
 * filter runs, and off again before the request is forwarded: only the gateway ever sets it.
 */
export const CLUSTER_HEADER = 'x-sidevault-cluster'

/** The names of those clusters begin with it, and those of no others. */
export const IDENTITY_PREFIX = 'destination_tls_'

/** The five methods that `/proxy` takes (interface "Ephemeral proxy"). */
export const PROXY_METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** What a request to `/proxy` may have of headers: lines beside those that Envoy and we make, and KiB of them. */
export const HEADER_LINES = 100
export const HEADER_KIB = 60

/** Header names of a brand in lower case, as they travel inside Envoy (completions §1). */
export const prefixHeaders = (prefix: string) =>
  ({
    apiKey: `${prefix}-api-key`,
    proxyKey: `${prefix}-proxy-key`,
    proxyUrl: `${prefix}-proxy-url`,
    dryRun: `${prefix}-proxy-dry-run`,
    dryRunResponse: `${prefix}-proxy-dry-run-answer`,
    stream: `${prefix}-proxy-stream`,
    idempotencyKey: `${prefix}-idempotency-key`,
    traceId: `${prefix}-trace-id`,
    destinationStatus: `${prefix}-proxy-destination-status`,
  }) as const
