/** The headers of a response that a transform waits for. */

import type { Head } from '../headers.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { type CollectedResponse, collectible, responseStatus } from '../transform/response.ts'
import type { ExtProcReply } from '../types.ts'

/** A response whose headers have come. */
interface ResponseHead {
  readonly request: Resolved
  readonly head: Head
  readonly hasBody: boolean
}

/** What becomes of a response: the reply, and what is transformed once its body is complete. */
interface ResponseDecision {
  readonly reply: ExtProcReply
  readonly collected: CollectedResponse | undefined
}

/**
 * Asks Envoy for the body when the response transform needs it, else lets the response pass. Throws `bad_gateway` for a
 * response that the transform cannot run on, and `rate_limited` when the owner has its share of memory.
 */
export const collectResponse = (
  { request, head, hasBody }: ResponseHead,
  { gateway, telemetry, memory, prefix, trace }: RequestContext,
): ResponseDecision => {
  const { bodyLimit, options } = gateway
  const destinationStatus = responseStatus(head, prefix)
  telemetry.destinationStatus = destinationStatus
  if (destinationStatus !== undefined) trace.responded(Number(destinationStatus))
  const collected = hasBody
    ? collectible(head, destinationStatus, request.proxy?.responseOtherwise, bodyLimit)
    : undefined
  if (collected === undefined || destinationStatus === undefined)
    return { reply: { kind: 'continueResponse' }, collected: undefined }
  const announced = head.get('content-length')?.[0]
  const length = announced === undefined ? undefined : Number(announced)
  memory.resize(length)
  memory.wait(length, options.responseMs)
  return { reply: { kind: 'bufferedResponse', destinationStatus }, collected }
}
