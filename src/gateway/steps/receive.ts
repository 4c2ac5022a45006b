import type { Received, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { ExtProcReply } from '../types.ts'
import { headEdits, modeOverrideOf } from './forward.ts'
import { announcedBytes } from './take-share.ts'

/** The reply to the headers of a request whose body Envoy buffers. */
export const awaitBody = (request: Resolved, context: RequestContext): ExtProcReply => {
  context.memory.wait(announcedBytes(request))
  return {
    kind: 'buffered',
    prefix: context.prefix,
    edits: headEdits(request, context),
    modeOverride: modeOverrideOf(request, context),
    isConsole: request.isConsole,
    mark: context.expectEnd(),
  }
}

/** The complete body has come, or there is none. Throws `rate_limited` when its owner has its share of memory. */
export const receive = (request: Received, context: RequestContext): Received => {
  const { telemetry, memory } = context
  telemetry.requestBytes = request.bytes.length
  memory.stopWaiting()
  memory.resize(request.bytes.length)
  return request
}
