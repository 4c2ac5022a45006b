/** Checks: verdicts of plugins on proxied calls (completions §18). */
import type { WithHealth } from './health.ts'

/** A token that a call names. Whether the caller may use it is decided after the checks. */
export interface CheckedToken {
  readonly id: string
  readonly container: string
}

/** The destination's response to a checked call. */
export interface CheckedResponse {
  readonly status: number
  /** Milliseconds from the headers of the request to those of the response. */
  readonly ms: number
  /** Bytes of the body, if the destination announced them. */
  readonly bytes?: number
}

/** A proxied call as checks see it: metadata, frozen. Never a value, a header, a body, a path or a query. */
export interface CheckedCall {
  readonly trace_id: string
  readonly tenant_id: string
  /** Nothing is sent, and verdicts are shown. */
  readonly dry_run: boolean
  /** The caller's. Absent: it sent no key. */
  readonly application?: { readonly id: string; readonly name?: string }
  /** The stored proxy that it goes through, if it does. */
  readonly proxy?: { readonly id: string; readonly name?: string }
  readonly destination: {
    readonly scheme: 'http' | 'https'
    readonly host: string
    readonly port: number
  }
  /** `CONNECT`: a tunnel of the forward proxy that is passed on unopened. */
  readonly method: string
  /** Media type of the request's body, in lower case and without parameters. */
  readonly content_type?: string
  /** Bytes of the request's body; absent where they are not known before its end. */
  readonly request_bytes?: number
  /**
   * The body is streamed. A request check is called for the headers, path and query first, then for each batch of the
   * body's tokens before one of them is opened; `tokens` are those of this part. A response check gets the first ones.
   */
  readonly streamed: boolean
  /** Existing tokens that the request names, each once. */
  readonly tokens: readonly CheckedToken[]
  /** For checks on responses. */
  readonly response?: CheckedResponse
}

/**
 * Labels go into the audit log: at most 10, names of 1 to 50 letters, digits and `_ . -`, values of at most 200
 * characters without control characters. A denial is a 403 with `code` (`[a-z][a-z0-9_]*`, at most 50 characters) and
 * `detail`, a sentence of at most 300 characters for the caller.
 */
export type CheckVerdict =
  | { readonly labels: Readonly<Record<string, string>> }
  | { readonly deny: { readonly code: string; readonly detail: string } }

/**
 * A check of proxied calls. Checks run in the order of plugins and declarations, one after the other; the first denial
 * ends the call.
 */
export interface Check extends WithHealth {
  /** `[a-z][a-z0-9-]*`, at most 50 characters, unique in the service. */
  readonly name: string
  /** Before a value is opened; or when the destination's status is known, before the caller gets any of it. */
  readonly on: 'request' | 'response'
  /** A call that the check throws for, or does not decide in time: rejected (503 `check_unavailable`), or passed on. */
  readonly fail: 'closed' | 'open'
  /** 1 to 1,000. Default 250. */
  readonly timeout_ms?: number
  /** Async. `undefined` lets the call pass. `signal` is aborted at the timeout. Must not block the event loop. */
  handle(call: CheckedCall, signal: AbortSignal): Promise<CheckVerdict | undefined>
}
