/** Dependencies and options that all requests of a gateway share. */
import type { Clock } from '../common/clock.ts'
import type { Shares } from '../common/shares.ts'
import { createDestinations, type DestinationPolicy } from '../egress/parse-url.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Code, Vault } from '../sdk/index.ts'
import type { Admission } from './admission.ts'
import type { BodyLimits } from './body/rewrite.ts'
import type { DryRunDeps } from './dry-run/run.ts'
import type { EffectiveCallerDeps } from './effective-caller.ts'
import type { HeaderRules } from './headers.ts'
import type { IdentifyDeps } from './identify.ts'
import type { RecentHosts } from './recent-hosts.ts'
import type { RequestRecordDeps } from './request-record.ts'
import type { RequestResolver } from './resolve-request.ts'
import type { StreamLimits } from './streaming/pipe-body.ts'
import { createTimed, type Stages, type Timed } from './timings.ts'

export interface ExchangeDeps
  extends RequestRecordDeps,
    IdentifyDeps,
    EffectiveCallerDeps,
    Pick<DryRunDeps, 'runWithoutEffects'>,
    Pick<RequestResolver, 'clusterOf'> {
  readonly vault: Vault
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
  /** Where a host of a streamed request is dialed, `<address>:<port>`. */
  readonly dial: (host: string, port: number) => Promise<string>
  /** Runs transforms. */
  readonly code: Pick<Code, 'run'>
}

export interface ExchangeOptions {
  readonly prefixes: HeaderRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `gateway_timeout`. */
  readonly stepMs: number
  /** Milliseconds that a step with code may take before it fails with `gateway_timeout`. The sandbox bounds the code itself. */
  readonly codeStepMs: number
  /** Milliseconds from the headers of a response that a transform needs complete to its end. */
  readonly responseMs: number
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Whether the console is served on the same origin. */
  readonly hasConsole: boolean
  readonly body: BodyLimits
  readonly upload: StreamLimits
}

/** State that all requests under the same settings share. */
export interface GatewayState extends RequestResolver {
  readonly deps: ExchangeDeps
  readonly options: Omit<ExchangeOptions, keyof RequestResolver>
  /** Makes the timer of one request. */
  readonly timer: (stages: Stages) => Timed
}

export const createGatewayState = (
  deps: ExchangeDeps,
  { prefixes, bodyLimit, hasConsole, destinations, ...options }: ExchangeOptions,
): GatewayState => ({
  deps,
  options,
  prefixes,
  bodyLimit,
  hasConsole,
  destinations: createDestinations(destinations),
  clusterOf: deps.clusterOf,
  timer: createTimed(deps.metrics),
})
