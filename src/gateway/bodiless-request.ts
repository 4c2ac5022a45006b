/** A request without a body: it goes out with the reply to its headers. */

import { type Edits, merged } from './headers.ts'
import type { Accepted, RequestState } from './request-state.ts'
import { evaluateRequest } from './request-values.ts'
import type { Transformed } from './transform/run.ts'
import type { ExtProcReply, ModeOverride } from './types.ts'

const NO_BODY = Buffer.alloc(0)

/** The error of a promise that is awaited later must not count as unhandled until then. */
export const ignore = (): void => {}

/** The edits, and the body that a transform gave the request. */
const withTransformed = (edits: Edits, { edits: changes, body }: Transformed) => {
  const set = new Map(changes.set)
  if (body.length === 0) set.delete('content-length')
  return { edits: merged(edits, { set, remove: changes.remove }), body: body.length === 0 ? undefined : body }
}

export const acceptBodiless = async (
  state: RequestState,
  accepted: Accepted,
  edits: Edits,
  modeOverride: ModeOverride | undefined,
): Promise<ExtProcReply> => {
  const { resolved, shape } = accepted
  const called = state.record.called(resolved)
  if (resolved.dryRun) {
    await called
    return state.dryRun(accepted, NO_BODY)
  }
  called.catch(ignore)
  const found = resolved.hasBraces ? await evaluateRequest(state, accepted, resolved, NO_BODY) : undefined
  try {
    await called
    state.record.tokens = found?.tokens ?? 0
    const sent =
      shape === undefined
        ? { edits, body: undefined }
        : withTransformed(edits, await state.transform(accepted, shape, NO_BODY))
    const all = (await found?.head?.apply(sent.edits, sent.body ?? NO_BODY)) ?? sent.edits
    return state.continueRequest(resolved, all, sent.body, modeOverride)
  } finally {
    found?.head?.release()
  }
}
