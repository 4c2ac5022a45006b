import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../common/log.ts'
import type { Metrics } from '../../common/metrics.ts'
import type { RateLimiter } from '../../common/rate-limiter.ts'
import type { Kernel } from '../../kernel/types.ts'
import type { Caller } from '../../sdk/index.ts'
import type { PrefixedHeaders } from './header-prefixes.ts'
import type { SlowBodyLimits } from './slow-body-limiter.ts'

/** What is known of one request besides the request itself. */
export interface RequestState extends PrefixedHeaders {
  /** As sent; ours to judge, once it is known that there is a body. */
  readonly contentType: string | undefined
  readonly startedAt: number
  caller: Caller | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    /** Name in metrics and access log: an operation's rpc, or one of ours. */
    operation?: string
    /** The input member that is the whole body. */
    body?: string | undefined
  }
}

/** A page of the service's own: alive, ready, metrics, documentation. */
export interface OwnRoute {
  readonly path: string
  readonly name: string
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
}

/** What an app serves, and what it tells of it. */
export interface AppDeps {
  readonly kernel: Kernel
  readonly log: Log
  readonly metrics: Metrics
  readonly own: readonly OwnRoute[]
}

export interface AppOptions {
  /** Header brands, first canonical. */
  readonly prefixes: readonly string[]
  /** Bytes of a request body. */
  readonly bodyLimit: number
  /** Bytes of path and headers together. */
  readonly headerLimit: number
  /** ms within which a whole request must have arrived, and within which its head must. */
  readonly requestTimeout: number
  readonly headersTimeout: number
  /** ms after which a call is answered with 504. */
  readonly callTimeout: number
  /** Bodies of one tenant that may be on their way for long; default: 64 for more than a second. */
  readonly slowBodies?: SlowBodyLimits | undefined
  /** ms between two looks for slow connections. */
  readonly checkInterval: number
  /** Sentence about a path that nothing is at. */
  readonly absent: string
  /** Rate limits; absent: none. */
  readonly admit?: RateLimiter | undefined
  /** Where clients see the service; default: the host and scheme of each request. */
  readonly baseUrl: string | undefined
}
