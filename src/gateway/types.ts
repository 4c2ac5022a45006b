/** Replies of an exchange to Envoy, and Envoy's stream as an exchange sees it. */
import type { Eventual } from '../common/eventual.ts'
import type {
  ConsoleUpstream,
  ExchangeMetadata,
  UploadUpstream,
  Upstream,
  WebSocketUpstream,
} from '../ext-proc/contract.ts'
import type { Edits, Head } from './headers.ts'

/** A response of the gateway's own. */
export interface LocalResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string | readonly string[]>
  readonly body: Buffer
}

/**
 * Parts of the response that Envoy sends too: its headers, which then decide about its body; or its body as well, which
 * Envoy buffers from the first byte on.
 */
export type ModeOverride = 'responseHeaders' | 'responseBody' | GuardedOverride

/**
 * Of a guarded call: everything, as it comes and in full duplex; or the headers, where no body follows (HEAD), or where
 * only checks of plugins need them. In the reply to the request's headers, and in no other. The response then goes to
 * `onStreamedResponse`.
 */
export type GuardedOverride = 'guardedResponse' | 'guardedHeaders'

/** Which process has a request, and what it knows it by, for Envoy's log of the call. */
export type CallMark = Required<Pick<ExchangeMetadata, 'worker' | 'call'>>

/**
 * A reply to Envoy, named as in ext_proc (`CommonResponse.Status`, `ModeOverride`, `BodySendMode`). For the request:
 * `buffered` waits for its body; `continue` sends it to the upstream, with the body replaced if there is one (in the
 * header phase: `CONTINUE_AND_REPLACE`). For the response: `continueResponse` leaves it unchanged, `bufferedResponse`
 * waits for its body, `replaceResponse` replaces it. `immediateResponse` ends either.
 */
export type ExtProcReply =
  | {
      readonly kind: 'buffered'
      readonly prefix: string
      /** A call of the console, whose responses Envoy guards. */
      readonly isConsole?: boolean
      readonly edits: Edits
      readonly modeOverride?: ModeOverride | undefined
      readonly mark?: CallMark | undefined
    }
  | {
      readonly kind: 'continue'
      readonly prefix: string
      readonly edits: Edits
      readonly upstream: Upstream | ConsoleUpstream | UploadUpstream | WebSocketUpstream
      /** Cluster of the upstream `tls`. */
      readonly cluster?: string | undefined
      /** Address of an upstream that is dialed by address. */
      readonly address?: string
      /** Absent: the body stays as it came. */
      readonly body?: Buffer
      readonly modeOverride?: ModeOverride | undefined
      readonly mark?: CallMark | undefined
    }
  /** Opens a tunnel: ours with `tunnel`, its identity; passed on unopened with `address`. */
  | {
      readonly kind: 'connect'
      readonly prefix: string
      readonly traceHeader: string
      readonly traceId: string
      readonly nonce: string
      readonly tunnel?: string
      readonly address?: string
      readonly mark?: CallMark | undefined
    }
  /** The headers of a guarded response. Its body follows in pieces. */
  | { readonly kind: 'guardedHead'; readonly edits: Edits }
  /** The next piece of a streamed body (`StreamedBodyResponse`). */
  | { readonly kind: 'streamed'; readonly body: Buffer; readonly isLast: boolean }
  /** Trailers behind a body. Absent: unchanged. */
  | { readonly kind: 'trailers'; readonly edits?: Edits | undefined }
  | { readonly kind: 'continueResponse' }
  | { readonly kind: 'bufferedResponse'; readonly destinationStatus: string }
  | { readonly kind: 'replaceResponse'; readonly edits: Edits; readonly body: Buffer }
  | { readonly kind: 'immediateResponse'; readonly prefix: string; readonly reply: LocalResponse }

/** The part of a body that has arrived. */
export interface BodyChunk {
  readonly bytes: Buffer
  /** The body is complete. */
  readonly isLast: boolean
}

/** A streamed body in both directions. All methods reject when the caller is gone. */
export interface BodyStream {
  /** The bytes since the last call; waits for some. Undefined: none within `ms`. */
  read(ms?: number): Promise<BodyChunk | undefined>
  /** Resolves when there is room for more, or after `ms`. */
  write(response: ExtProcReply, ms?: number): Promise<void>
  /** The body's last piece. */
  end(bytes: Buffer): Promise<void>
}

/** The part of a response's body that has arrived. */
export interface ResponseChunk extends BodyChunk {
  /** Trailers that ended the body. */
  readonly trailers?: Head
}

/**
 * A guarded response in both directions, whose local replies are responses too. Order: `head`, any number of `write`,
 * `end`; a response without a body (`endOfStream`) has its `head` only. All methods reject when the stream is gone.
 */
export interface ResponseFlow {
  /** The next bytes, 64 KiB at most; waits for some, as long as Envoy does. Undefined: none within `ms`. */
  read(ms?: number): Promise<ResponseChunk | undefined>
  /** Sends the headers. The body may have been read before. */
  head(edits: Edits): Promise<void>
  /** Sends bytes of the body. Resolves when there is room for more. */
  write(bytes: Buffer): Promise<void>
  /** Sends the rest of the body, and the trailers if some came. Only after `read` returned the last chunk. */
  end(bytes: Buffer, trailerEdits?: Edits): Promise<void>
  /** Sends a response of our own instead, before `head`. */
  immediate(reply: Extract<ExtProcReply, { readonly kind: 'immediateResponse' }>): Promise<void>
  /** Resets the call: the client sees a response that broke off, never a clean end. */
  abort(): void
}

/**
 * One request by the phases of ext_proc. No phase throws or rejects: an error is an `immediateResponse`. Each is called
 * at most once, in this order; the last ones when a `modeOverride` asked for the response.
 */
export interface Exchange {
  /** Instead of the others, for a streamed body: `flow` gets all replies. */
  onStreamedRequest(head: Head, endOfStream: boolean, flow: BodyStream): Promise<void>
  onRequestHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply>
  onRequestBody(body: Buffer): Eventual<ExtProcReply>
  onResponseHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply>
  onResponseBody(body: Buffer): Eventual<ExtProcReply>
  /**
   * Instead of these two, for a guarded call: `flow` gets all replies. The request may still be streamed, or in the
   * middle of a phase when Envoy itself responds. A rejection resets the call.
   */
  onStreamedResponse(head: Head, endOfStream: boolean, flow: ResponseFlow): Promise<void>
  /** A guarded call ended and its response never came here: it passed unguarded. */
  unseen(): void
  /**
   * After `buffered` and `bufferedResponse`: resolves with the reply that is sent instead of waiting for the body.
   * Undefined: the exchange waits as long as Envoy does.
   */
  readonly bodyRejected: Promise<ExtProcReply> | undefined
  /** The caller went away: work in progress is canceled. */
  cancel(): void
}
