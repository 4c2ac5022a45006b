/** The reply that lets a request go. */
import { type Edits, merged } from '../headers.ts'
import type { Outgoing, Received, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { ExtProcReply, ModeOverride } from '../types.ts'

/** Headers that the destination gets in the place of the caller's. */
export const headEdits = (
  { destination, path, stripped }: Resolved,
  { traceHeader, traceId }: RequestContext,
): Edits => ({
  set: new Map([
    [':authority', destination.authority],
    [':path', path],
    [traceHeader, traceId],
  ]),
  remove: stripped,
})

/** A response that is searched is whole and plain (RFC 9110 §12.5.3, §14.2). */
export const withSearchableResponse = ({ set, remove }: Edits): Edits => ({
  set: new Map([...set, ['accept-encoding', 'identity']]),
  remove: [...remove, 'range', 'if-range'],
})

/**
 * The parts of the response that the response guard needs, checks, or the transform. Envoy stops reading a response
 * that fills its buffer before its headers are replied to, unless it collects it from the first byte on: then it is
 * rejected at once. Responses that may pass are never rejected for their size.
 */
export const modeOverrideOf = (
  { proxy, dryRun, guard, method }: Resolved,
  { origin, gateway: { checks } }: RequestContext,
): ModeOverride | undefined => {
  if (guard.isAsked && !dryRun) return method === 'HEAD' ? 'guardedHeaders' : 'guardedResponse'
  if (dryRun || origin?.isBodyUnread) return undefined
  const isTransformed = proxy?.responseTransform !== undefined
  if (checks !== undefined && checks.response.length > 0)
    return isTransformed && method !== 'HEAD' ? 'guardedResponse' : 'guardedHeaders'
  if (!isTransformed) return undefined
  return proxy.responseOtherwise === 'pass' ? 'responseHeaders' : 'responseBody'
}

/**
 * The request leaves; Envoy's log says how the call ends. Throws `rate_limited` when its body is above its owner's
 * share.
 */
export const forward = (request: Outgoing & Received, context: RequestContext): ExtProcReply => {
  const { body, upstream, cluster, dialed, isHeadSent, destination, stripped } = request
  const { prefix, memory, telemetry, trace, disclosures } = context
  if (body !== undefined) memory.resize(body.length)
  const modeOverride = modeOverrideOf(request, context)
  const mark = isHeadSent ? undefined : context.expectEnd()
  telemetry.released('forwarded')
  const own = disclosures?.needles.isEmpty === false ? withSearchableResponse(request.edits) : request.edits
  const edits = isHeadSent ? own : merged(headEdits(request, context), own)
  const released = trace.release(edits, destination.host, stripped)
  const replaced = body === undefined ? {} : { body }
  return {
    kind: 'continue',
    prefix,
    upstream,
    cluster,
    ...dialed,
    edits: released,
    modeOverride,
    mark,
    ...replaced,
  }
}
