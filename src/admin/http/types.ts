import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import type { Metrics } from '../../common/metrics.ts'
import type { RateLimiter } from '../../common/rate-limiter.ts'
import type { AppliedRule } from '../../common/request-ring.ts'
import type { Span } from '../../common/tracing.ts'
import type { Identified, Kernel, Presented } from '../../kernel/types.ts'
import type { Caller } from '../../sdk/index.ts'
import type { SlowBodyLimits } from '../slow-body-limiter.ts'
import type { PrefixedHeaders } from './header-prefixes.ts'

/** State of one request. */
export interface RequestState extends Omit<PrefixedHeaders, 'key' | 'parent'> {
  readonly key: Presented
  /** A call of the console: below `/console/api/`, with a session in the place of a key. */
  readonly isConsole: boolean
  /** `Origin` as sent; undefined for calls of the console, which have a proof of their own. */
  readonly origin: string | undefined
  /** Content type as sent. Checked by this service once a body is known to exist. */
  readonly contentType: string | undefined
  readonly startedAt: number
  readonly span: Span | undefined
  caller: Caller | undefined
  /** Rules and permissions that decided about the tokens of the call. */
  rules: readonly AppliedRule[]
  /** The caller as authenticated before the body. */
  identified: Identified | undefined
  /** Code of the error that the call failed with. */
  errorCode: ErrorCode | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    /** Name in metrics and access log: an operation's rpc, or the name of a page. */
    operation?: string
    consoleOnly?: boolean
    /** The input member that is the complete body. */
    body?: string | undefined
  }
}

/** A page of the service itself: health, metrics, documentation. */
export interface OwnRoute {
  /** Default: GET, and HEAD with it. */
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly name: string
  /** Only calls of the console reach it, with a session; it is 404 for all others. */
  readonly consoleOnly?: boolean
  /** Bytes of a body; default: as operations. */
  readonly bodyLimit?: number
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
}

/** The routes of an app, its logs and its metrics. */
export interface AppDeps {
  readonly kernel: Kernel
  readonly log: Log
  readonly metrics: Metrics
  readonly own: readonly OwnRoute[]
}

export interface AppOptions {
  /** Header prefixes, the canonical one first. */
  readonly prefixes: readonly string[]
  /** Bytes of a request body. */
  readonly bodyLimit: number
  /** Bytes of path and headers together. */
  readonly headerLimit: number
  /** ms for a complete request to arrive, and for its headers. */
  readonly requestTimeout: number
  readonly headersTimeout: number
  /** ms after which a call fails with 504. */
  readonly callTimeout: number
  /** Maximum slow bodies of one tenant; default: 64 that take more than a second. */
  readonly slowBodies?: SlowBodyLimits | undefined
  /** ms between two checks for slow connections. */
  readonly checkInterval: number
  /** Detail of the 404 for unknown paths. */
  readonly absent: string
  /** Rate limits; absent: none. */
  readonly admit?: RateLimiter | undefined
  /** Where clients see the service; default: the host and scheme of each request. */
  readonly baseUrl: string | undefined
  /** Operations are served below `/console/api/` too, with console sessions. Default false. */
  readonly console?: boolean | undefined
}
