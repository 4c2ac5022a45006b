/** Phases of a response that a transform waits for. */
import type { Head } from './headers.ts'
import type { RequestState } from './request-state.ts'
import { collectible, responseStatus, transformResponse } from './transform/response.ts'
import type { ExtProcReply } from './types.ts'

/**
 * Accepts the headers of a response: asks Envoy for the body when the response transform needs it, else lets the
 * response pass. Throws `bad_gateway` for a response that the transform cannot run on, and `rate_limited` when the
 * owner has its share of memory.
 */
export const acceptResponseHeaders = (
  state: RequestState,
  head: Head,
  endOfStream: boolean,
): ExtProcReply => {
  const { bodyLimit, options } = state.shared
  state.destinationStatus = responseStatus(head, state.prefix)
  state.record.destinationStatus = state.destinationStatus
  const otherwise = state.accepted?.resolved.proxy?.responseOtherwise
  state.response = endOfStream ? undefined : collectible(head, state.destinationStatus, otherwise, bodyLimit)
  if (state.response === undefined || state.destinationStatus === undefined) {
    state.record.finish('forwarded')
    return { kind: 'continueResponse' }
  }
  const announced = head.get('content-length')?.[0]
  const length = announced === undefined ? undefined : Number(announced)
  state.memory.resize(length)
  state.memory.wait(length, options.responseMs)
  return { kind: 'bufferedResponse', destinationStatus: state.destinationStatus }
}

/**
 * Accepts the complete body of a response, and replaces the response by the result of the transform. An empty body
 * passes. Rejects as `transformResponse` does, and with `rate_limited` when no transform can run: nothing of the
 * destination's response is passed on.
 */
export const acceptResponseBody = async (state: RequestState, bytes: Buffer): Promise<ExtProcReply> => {
  const resolved = state.accepted?.resolved
  const response = state.response
  const proxy = resolved?.proxy
  if (resolved === undefined || proxy === undefined || response === undefined)
    throw new Error('a response came that was not asked for')
  state.memory.stopWaiting()
  state.memory.resize(bytes.length)
  const run = () => transformResponse(response, bytes, state.runOf(resolved, proxy))
  const result = bytes.length === 0 ? undefined : await state.admitCode(bytes, run, resolved.caller, proxy)
  state.record.responseBytes = result?.body.length ?? bytes.length
  state.record.finish('forwarded')
  return result === undefined ? { kind: 'continueResponse' } : { kind: 'replaceResponse', ...result }
}
