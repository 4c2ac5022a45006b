import { systemClock } from '../common/clock.ts'
import type { EndedRequest } from '../common/request-ring.ts'
import type { Caller } from '../sdk/index.ts'

const NO_STAGES = Object.freeze({})

type Varying = 'traceId' | 'method' | 'route' | 'status' | 'code' | 'durationMs' | 'rules'
type Sizes = Partial<Pick<EndedRequest, 'requestBytes' | 'responseBytes'>>

/** A call of the API for the list of the newest ones. */
export const recentCall = (caller: Caller, call: Pick<EndedRequest, Varying> & Sizes): EndedRequest => ({
  requestBytes: undefined,
  responseBytes: undefined,
  ...call,
  at: systemClock.now(),
  kind: 'api',
  tenantId: caller.tenantId,
  applicationId: caller.applicationId,
  proxyId: undefined,
  host: undefined,
  outcome: 'responded',
  destinationStatus: undefined,
  stages: NO_STAGES,
  tokens: call.rules.reduce((sum, { tokens, disclosure }) => (disclosure === 'none' ? sum : sum + tokens), 0),
})
