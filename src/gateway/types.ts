/** What an exchange says to Envoy, and Envoy's stream to an exchange. */
import type { UploadUpstream, Upstream } from '../ext-proc/contract.ts'
import type { Edits, Head } from './headers.ts'
import type { Reply } from './replies.ts'

/**
 * What is wanted of the response: its headers, which then decide about its body; or its body too, which Envoy collects
 * from the first byte on, unless the headers say that it may pass.
 */
export type Watch = 'headers' | 'body'

/**
 * What Envoy is told. Of the request, `hold`: wait for the body; only `release` names where it goes; `watch`: the answer
 * is wanted too. Of the answer, `pass`: it goes on as it is; `collect`: its body is wanted, whole; `replace`.
 */
export type ExtProcReply =
  | {
      readonly kind: 'hold'
      readonly prefix: string
      readonly edits: Edits
      readonly watch?: Watch | undefined
    }
  | {
      readonly kind: 'release'
      readonly prefix: string
      readonly edits: Edits
      readonly upstream: Upstream | UploadUpstream
      /** With the upstream `tls`: the cluster. */
      readonly cluster?: string | undefined
      /** With an upstream that is dialed. */
      readonly address?: string
      /** Absent: the body stays as it came. */
      readonly body?: Buffer
      readonly watch?: Watch | undefined
    }
  /** Of a body that goes on in pieces, its next one; and its trailers, as they came. */
  | { readonly kind: 'piece'; readonly body: Buffer; readonly isLast: boolean }
  | { readonly kind: 'trailers' }
  | { readonly kind: 'pass' }
  | { readonly kind: 'collect'; readonly destinationStatus: string }
  | { readonly kind: 'replace'; readonly edits: Edits; readonly body: Buffer }
  | { readonly kind: 'reply'; readonly prefix: string; readonly reply: Reply }

/** What has come of a body. */
export interface BodyChunk {
  readonly bytes: Buffer
  /** The body is over. */
  readonly isLast: boolean
}

/** A body that comes and goes in pieces, as an exchange has it. All reject once the caller is gone. */
export interface BodyStream {
  /** What has come since the last call; waits for it. Undefined: nothing within `ms`. */
  read(ms?: number): Promise<BodyChunk | undefined>
  /** Resolves when there is room for more, or after `ms`. */
  write(response: ExtProcReply, ms?: number): Promise<void>
  /** The body's last piece. */
  end(bytes: Buffer): Promise<void>
}

/**
 * One request by the phases of ext_proc. No phase rejects: an error is a `reply`. Each is called at most once, in this
 * order; the last two when the response is watched.
 */
export interface Exchange {
  /** In the place of the others, for a streamed body: `flow` gets all replies. */
  onStreamedRequest(head: Head, endOfStream: boolean, flow: BodyStream): Promise<void>
  onRequestHeaders(head: Head, endOfStream: boolean): Promise<ExtProcReply>
  onRequestBody(body: Buffer): Promise<ExtProcReply>
  onResponseHeaders(head: Head, endOfStream: boolean): Promise<ExtProcReply>
  onResponseBody(body: Buffer): Promise<ExtProcReply>
  /**
   * Behind `hold` and `collect`: resolves with the reply in the place of the body, when that is not wanted any more.
   * Undefined: the exchange waits as long as Envoy does.
   */
  readonly bodyRejected: Promise<ExtProcReply> | undefined
  /** The caller went away: work in progress is given up. */
  cancel(): void
}
