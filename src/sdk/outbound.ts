/** A request to a party outside. */
export interface OutboundRequest {
  readonly url: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Uint8Array
  /** Follow redirects, each checked like the first address. Default: they are answered as they are. */
  readonly follow?: boolean
  /** Following, a 307 or 308 may take the body to another origin. Default: that fails with `destination_not_allowed`. */
  readonly bodyToAnyOrigin?: boolean
  /** For whom: its connections are apart from those of others, and it has a share of all. Default: the service itself. */
  readonly tenantId?: string
  /** Told of bytes of the answer's body as they come, and of those that decoding adds. What it throws ends the request. */
  readonly onBytes?: (bytes: number) => void
}

export interface OutboundResponse {
  readonly status: number
  readonly statusText: string
  /** Where the answer came from, after redirects. */
  readonly url: string
  readonly redirected: boolean
  /** In order, names in lower case; of a decoded body without its content-encoding. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}
