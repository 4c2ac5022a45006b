import { chmod, rm } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { type Clock, systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { RateLimiter } from '../common/rate-limiter.ts'
import type { Kernel } from '../kernel/types.ts'
import { consoleRoutes } from './console/routes.ts'
import { createApp } from './http/app.ts'
import { type DirectListener, type Identity, startDirectListener } from './http/direct-listener.ts'
import { documentationRoutes } from './openapi/routes.ts'
import { caPemRoute } from './ops/ca-pem.ts'
import { type Check, healthRoutes } from './ops/health.ts'
import { type MetricSource, metricsRoute } from './ops/metrics.ts'
import type { SlowBodyLimits } from './slow-body-limiter.ts'

export type { Identity } from './http/direct-listener.ts'

interface AdminDeps {
  readonly kernel: Kernel
  readonly metrics: Metrics
  readonly log: Log
  /** Default: the system's. */
  readonly clock?: Clock
  /** Components that `/readyz` checks, besides the kernel. */
  readonly checks?: Readonly<Record<string, Check>>
  /** Certificates that clients of the forward proxy should trust, PEM; absent: there is none, and `/ca.pem` is 404. */
  readonly caPem?: (() => Promise<string>) | undefined
  /** Other processes whose metrics `/metrics` adds. */
  readonly sources?: readonly MetricSource[]
}

interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly identity?: Identity | undefined
  readonly connections?: number
  /** ms for requests in flight when it closes; default 10,000. */
  readonly drainMs?: number
}

interface AdminOptions {
  /** Where to listen: a unix socket (mode 0600, a stale one is replaced), a port of loopback, or nowhere (`inject`). */
  readonly listen: { readonly socketPath: string } | { readonly port: number } | 'nowhere'
  /** A TCP port of its own, besides `listen`. */
  readonly direct?: ListenerOptions | undefined
  /** A TCP port for health, metrics and documentation, which are then 404 everywhere else. */
  readonly ops?: ListenerOptions | undefined
  /** Header prefixes, the canonical one first. Default: SVC. */
  readonly prefixes?: readonly string[]
  /** Where clients see the service, for `Location`; default: host and scheme of each request. */
  readonly baseUrl?: string
  /** Rate limits; absent: none. */
  readonly admit?: RateLimiter | undefined
  /** Version of the service, printed in the OpenAPI document. */
  readonly version?: string
  /** JSON Schema of the configuration file, served below `/docs`. Absent: it is not. */
  readonly configSchema?: object
  /** Bytes of a body; default 1 MiB. */
  readonly bodyLimit?: number
  /** Bytes of path and headers; default 64 KiB. */
  readonly headerLimit?: number
  /** ms for a complete request to arrive; default 30,000. */
  readonly requestTimeout?: number
  /** ms for the head of a request to arrive; default 10,000. */
  readonly headersTimeout?: number
  /** ms after which a call fails with 504; default 45,000: a reactor may take 30,000. */
  readonly callTimeout?: number
  /** Maximum slow bodies of one tenant; default: 64 that take more than a second. */
  readonly slowBodies?: SlowBodyLimits
  /** ms between two checks for slow requests; default 1,000. */
  readonly checkInterval?: number
  /** ms that `close` waits for requests in flight; default 10,000. */
  readonly drainTimeout?: number
  /** ms for a component's health check, and for a process's metrics; default 2,000. */
  readonly partTimeout?: number
  /** Whether the console is served; default false. */
  readonly console?: boolean
  /** Whether the management API is served and documented; default true. Health and metrics always are. */
  readonly management?: boolean
  /** This process's name in `sidevault_process_up`; default `admin`. */
  readonly processName?: string
}

const NOTHING_HERE = 'No such route. See /docs.'
const OPERATIONS_ONLY = 'This listener serves /healthz, /readyz, /metrics and /docs only.'

const absentSentence = (management: boolean, ops: boolean): string => {
  if (management) return ops ? 'No such route.' : NOTHING_HERE
  const served = ops ? '/proxy' : '/proxy, /healthz, /readyz and /metrics'
  return `This node serves ${served} only. Send management calls to a node with the role admin.`
}

/** Pages of operators that the console reads. */
const CONSOLE_PAGES = ['readyz', 'metrics']

interface Admin {
  readonly app: FastifyInstance
  /** Socket path or `http://127.0.0.1:<port>`; `''` when listening nowhere. */
  readonly address: string
  readonly direct: DirectListener | undefined
  readonly ops: DirectListener | undefined
  /** New connections of `direct` and `ops` get this certificate. Throws for an invalid one. */
  renew(identity: Identity): void
  /** Takes no new requests, lets those in flight finish within the drain timeout, then closes every connection. */
  close(): Promise<void>
}

const listen = async (app: FastifyInstance, where: AdminOptions['listen']): Promise<string> => {
  if (where === 'nowhere') {
    await app.ready()
    return ''
  }
  if ('port' in where) return app.listen({ host: '127.0.0.1', port: where.port })
  await rm(where.socketPath, { force: true })
  await app.listen({ path: where.socketPath })
  await chmod(where.socketPath, 0o600)
  return where.socketPath
}

/** A registry without operations, for health and metrics on nodes without the admin role. */
const withoutOperations = (kernel: Kernel): Kernel => ({
  ...kernel,
  registry: { ...kernel.registry, operations: [] },
})

/** The HTTP transport of the admin role. */
export const startAdmin = async (deps: AdminDeps, options: AdminOptions): Promise<Admin> => {
  const { metrics, log } = deps
  const management = options.management ?? true
  const kernel = management ? deps.kernel : withoutOperations(deps.kernel)
  const prefixes = options.prefixes ?? ['SVC']
  const partTimeout = options.partTimeout ?? 2_000
  const limits = {
    headerLimit: options.headerLimit ?? 64 * 1024,
    requestTimeout: options.requestTimeout ?? 30_000,
    headersTimeout: options.headersTimeout ?? 10_000,
    checkInterval: options.checkInterval ?? 1_000,
  }
  const hasConsole = management && options.console === true
  const documentation = management
    ? documentationRoutes(kernel.registry, {
        prefix: prefixes[0] ?? 'SVC',
        version: options.version ?? '0.0.0',
        configSchema: options.configSchema,
      })
    : []
  const forOperators = [
    ...healthRoutes(
      { kernel: () => kernel.health(), ...deps.checks },
      { log, timeout: partTimeout, clock: deps.clock ?? systemClock },
    ),
    metricsRoute(
      { metrics, sources: deps.sources ?? [], log },
      { name: options.processName ?? 'admin', timeout: partTimeout },
    ),
    ...documentation.filter(({ name }) => name !== 'openapi'),
  ]
  const openApi = documentation.filter(({ name }) => name === 'openapi')
  const moved = hasConsole
    ? forOperators
        .filter(({ name }) => CONSOLE_PAGES.includes(name))
        .map((route) => ({ ...route, consoleOnly: true }))
    : []
  const shared = {
    prefixes,
    bodyLimit: options.bodyLimit ?? 1024 * 1024,
    ...limits,
    callTimeout: options.callTimeout ?? 45_000,
    slowBodies: options.slowBodies,
    baseUrl: options.baseUrl,
    admit: options.admit,
  }
  const transport = createApp(
    {
      kernel,
      log,
      metrics,
      own: [
        ...(options.ops === undefined ? forOperators : moved),
        ...(deps.caPem === undefined ? [] : [caPemRoute(deps.caPem)]),
        ...(hasConsole ? consoleRoutes({ kernel, admit: options.admit }) : []),
        ...openApi,
      ],
    },
    { ...shared, absent: absentSentence(management, options.ops !== undefined), console: hasConsole },
  )
  const { app } = transport
  const address = await listen(app, options.listen)
  const direct =
    options.direct && (await startDirectListener(transport, { log, ...limits, ...options.direct }))
  const startOps = async (at: ListenerOptions) => {
    const pages = createApp(
      { kernel: withoutOperations(kernel), log, metrics, own: [...forOperators, ...openApi] },
      { ...shared, absent: OPERATIONS_ONLY, console: false },
    )
    await pages.app.ready()
    return startDirectListener(pages, { log, ...limits, ...at })
  }
  const ops = options.ops && (await startOps(options.ops))
  let closed: Promise<void> | undefined

  const close = async () => {
    const timer = setTimeout(() => app.server.closeAllConnections(), options.drainTimeout ?? 10_000)
    try {
      await Promise.all([
        app.close(),
        direct?.close(options.direct?.drainMs ?? 10_000),
        ops?.close(options.ops?.drainMs ?? 10_000),
      ])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    app,
    address,
    direct,
    ops,
    renew: (identity) => {
      direct?.renew(identity)
      ops?.renew(identity)
    },
    close: () => {
      closed ??= close()
      return closed
    },
  }
}
