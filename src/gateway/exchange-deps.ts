/** Dependencies and options that all requests of a gateway share. */
import type { Clock } from '../common/clock.ts'
import type { RateLimiter } from '../common/rate-limiter.ts'
import type { Shares } from '../common/shares.ts'
import type { Span } from '../common/tracing.ts'
import { createDestinations, type DestinationPolicy, type Destinations } from '../egress/parse-url.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Bindings } from '../forward-proxy/bindings.ts'
import type { Authenticator, PluginCheck, ProxyDirectory, TenantGuards } from '../kernel/types.ts'
import type { Code, DestinationTls, Vault } from '../sdk/index.ts'
import type { Admission } from './admission.ts'
import type { BodyLimits } from './body/limits.ts'
import { type Checks, createChecks } from './checks.ts'
import type { RunWithoutEffects } from './dry-run/transform.ts'
import type { HeaderRules } from './headers.ts'
import type { OpenCalls } from './open-calls.ts'
import type { RecentHosts } from './recent-hosts.ts'
import type { RequestRecordDeps } from './request-record.ts'
import type { StreamLimits } from './streaming/pipe-body.ts'
import { createTimed, type Stages, type Timed } from './timings.ts'

export interface ExchangeDeps extends RequestRecordDeps {
  readonly authenticator: Authenticator
  readonly proxies: Pick<ProxyDirectory, 'find'>
  readonly tenantGuards: TenantGuards
  readonly admit: RateLimiter
  /** Absent: there is no forward proxy. */
  readonly bindings?: Bindings
  readonly vault: Vault
  /** Checks of plugins. Default: there are none. */
  readonly checks?: readonly PluginCheck[]
  /** Monotonic clock for the duration of bodies. */
  readonly steadyClock: Clock
  readonly expressions: Expressions
  readonly admission: Admission
  /** Admission of streamed bodies, from their first to their last byte. */
  readonly uploads: Admission
  /** Admission of transforms; the owners are the tenant and the proxy. */
  readonly codeAdmission: Admission
  /** Bytes of Envoy's memory that calls hold, from their headers to the end of their response. */
  readonly held: Shares
  readonly hosts: RecentHosts
  /** Calls whose end Envoy's log reports. */
  readonly calls: OpenCalls
  /** Where a host of a streamed request is dialed, `<address>:<port>`. */
  readonly dial: (host: string, port: number) => Promise<string>
  /** Resolves with the name of the cluster of these certificates when Envoy has it. */
  readonly clusterOf: (tls: DestinationTls, tenantId: string) => Promise<string>
  /** Runs transforms. */
  readonly code: Pick<Code, 'run'>
  /** Runs transforms in dry runs. */
  readonly runWithoutEffects: RunWithoutEffects
}

export interface ExchangeOptions {
  readonly prefixes: HeaderRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `gateway_timeout`. */
  readonly stepMs: number
  /**
   * Milliseconds that a step with code may take before it fails with `gateway_timeout`. The sandbox bounds the code
   * itself.
   */
  readonly codeStepMs: number
  /** Milliseconds from the headers of a response that a transform needs complete to its end. */
  readonly responseMs: number
  /** Milliseconds for which the headers of a guarded response wait for the result of its search. */
  readonly searchMs: number
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Whether the console is served on the same origin. */
  readonly hasConsole: boolean
  readonly body: BodyLimits
  readonly upload: StreamLimits
}

/** State that all requests under the same settings share. */
export interface GatewayState {
  readonly deps: ExchangeDeps
  readonly prefixes: HeaderRules
  readonly destinations: Destinations
  /** Undefined: no plugin has one. */
  readonly checks: Checks | undefined
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Whether the console is served on the same origin. */
  readonly hasConsole: boolean
  readonly options: Pick<
    ExchangeOptions,
    'stepMs' | 'codeStepMs' | 'responseMs' | 'searchMs' | 'body' | 'upload'
  >
  /** Makes the timer of one request. */
  readonly timer: (stages: Stages, span?: Span) => Timed
}

export const createGatewayState = (
  deps: ExchangeDeps,
  { prefixes, bodyLimit, hasConsole, destinations, ...options }: ExchangeOptions,
): GatewayState => ({
  deps,
  prefixes,
  destinations: createDestinations(destinations),
  checks: createChecks(deps.checks ?? [], deps),
  bodyLimit,
  hasConsole,
  options,
  timer: createTimed(deps.metrics),
})
