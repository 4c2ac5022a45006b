import type { Eventual } from '../common/eventual.ts'
import { detokenize, detokenizePlain } from './detokenize.ts'
import { effectiveCaller } from './effective-caller.ts'
import type { Accepted, RequestState } from './request-state.ts'
import type { ResolvedRequest } from './resolve-request.ts'
import type { Detokenized } from './surfaces/types.ts'

/** Values for the expressions of a request with this body; plain when a transform takes it. */
export const evaluateRequest = (
  state: RequestState,
  accepted: Accepted,
  resolved: ResolvedRequest,
  bytes: Buffer,
): Eventual<Detokenized> => {
  const { deps, options, prefixes } = state.shared
  const { head, stripped, shape } = accepted
  const { contentType, contentEncoding, path, surfaces, hasBraces, proxy } = resolved
  return (shape === undefined ? detokenize : detokenizePlain)(
    { bytes, contentType, contentEncoding },
    { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed: state.timed },
    () => effectiveCaller(deps, resolved),
    { traceId: state.record.traceId, now: deps.clock.now(), ...state.useOf(resolved) },
    { head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: false },
  )
}
