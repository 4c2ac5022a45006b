/** What a reply to Envoy lets come next. */
import type { Phase } from './encode-reply.ts'
import type { ExtProcReply, GuardedOverride } from './types.ts'

/** The guarded parts of the response of a call. */
export const guardOf = (reply: ExtProcReply): GuardedOverride | undefined => {
  const override = 'modeOverride' in reply ? reply.modeOverride : undefined
  return override === 'guardedResponse' || override === 'guardedHeaders' ? override : undefined
}

/** The message that may come next, if any may; but a guarded response, which has a flow of its own. */
export const phaseAfter = (response: ExtProcReply, phase: Phase): Phase | 'done' => {
  if (response.kind === 'buffered' && phase === 'request_headers') return 'request_body'
  if (response.kind === 'continue' && response.modeOverride && guardOf(response) === undefined)
    return 'response_headers'
  return response.kind === 'bufferedResponse' ? 'response_body' : 'done'
}
