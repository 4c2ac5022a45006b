import type { OutboundDestination } from './destinations.ts'

/** A request to an external server. */
export interface OutboundRequest {
  readonly url: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Uint8Array
  /** Follow redirects, each checked like the first address. Default: redirects are returned. */
  readonly followRedirects?: boolean
  /** Allow a 307 or 308 to send the body to another origin. Default: that fails with `destination_not_allowed`. */
  readonly allowCrossOriginBody?: boolean
  /** Called before each request, redirects included. A throw ends it. */
  readonly check?: (destination: OutboundDestination) => void
  /** Owner: has connections of its own, and a share of all. Default: the service itself. */
  readonly tenantId?: string
  /**
   * Called with the number of bytes of the response's body as they arrive, and of those that decoding adds. A throw
   * ends the request.
   */
  readonly onBytes?: (bytes: number) => void
}

export interface OutboundResponse {
  readonly status: number
  readonly statusText: string
  /** URL of the response, after redirects. */
  readonly url: string
  readonly redirected: boolean
  /** In order, names in lower case; of a decoded body without its content-encoding. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}
