import type { Eventual } from '../common/eventual.ts'
import { detokenize, detokenizePlain } from './detokenize.ts'
import { effectiveCaller } from './effective-caller.ts'
import type { Accepted, RequestState } from './request-state.ts'
import type { ResolvedRequest } from './resolve-request.ts'
import type { RequestHead } from './surfaces/plan.ts'
import type { Detokenized } from './surfaces/types.ts'

/** Undefined: the body is the only surface that this request has. */
const headOf = (
  { shared: { prefixes } }: RequestState,
  { head, stripped }: Accepted,
  { path, surfaces, hasBraces, proxy }: ResolvedRequest,
): RequestHead | undefined =>
  !hasBraces && surfaces.includes('body')
    ? undefined
    : { head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: false }

/** Values for the expressions of a request with this body; plain when a transform takes it. */
export const evaluateRequest = (
  state: RequestState,
  accepted: Accepted,
  resolved: ResolvedRequest,
  bytes: Buffer,
): Eventual<Detokenized> => {
  const { deps, options } = state.shared
  const { contentType, contentEncoding } = resolved
  return (accepted.shape === undefined ? detokenize : detokenizePlain)(
    { bytes, contentType, contentEncoding },
    { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed: state.timed },
    () => effectiveCaller(deps, resolved),
    { traceId: state.record.traceId, now: deps.clock.now(), ...state.useOf(resolved) },
    headOf(state, accepted, resolved),
  )
}
