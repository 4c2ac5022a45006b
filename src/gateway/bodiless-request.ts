/** A request without a body: it goes out with the reply to its headers. */

import { type Edits, merged } from './headers.ts'
import type { Accepted, RequestState } from './request-state.ts'
import { evaluateRequest } from './request-values.ts'
import type { EvaluatedHead } from './surfaces/types.ts'
import type { Shape } from './transform/content.ts'
import type { ExtProcReply, ModeOverride } from './types.ts'

const NO_BODY = Buffer.alloc(0)

export const acceptBodiless = async (
  state: RequestState,
  accepted: Accepted,
  edits: Edits,
  modeOverride: ModeOverride | undefined,
): Promise<ExtProcReply> => {
  const { resolved, shape } = accepted
  if (resolved.dryRun || !resolved.hasBraces) await state.record.called(resolved)
  if (resolved.dryRun) return state.dryRun(accepted, NO_BODY)
  if (resolved.hasBraces) return evaluateBodiless(state, accepted, edits, modeOverride)
  if (shape === undefined) return state.continueRequest(resolved, edits, undefined, modeOverride)
  return transformBodiless(state, accepted, shape, edits, modeOverride)
}

const transformBodiless = async (
  state: RequestState,
  accepted: Accepted,
  shape: Shape,
  edits: Edits,
  modeOverride: ModeOverride | undefined,
  evaluated?: EvaluatedHead,
): Promise<ExtProcReply> => {
  const { edits: changes, body } = await state.transform(accepted, shape, NO_BODY)
  const set = new Map(changes.set)
  if (body.length === 0) set.delete('content-length')
  const all = merged(edits, { set, remove: changes.remove })
  const sent = body.length === 0 ? undefined : body
  const evaluatedEdits = (await evaluated?.apply(all, body)) ?? all
  return state.continueRequest(accepted.resolved, evaluatedEdits, sent, modeOverride)
}

/** The same with expressions in headers, path or query. */
const evaluateBodiless = async (
  state: RequestState,
  accepted: Accepted,
  edits: Edits,
  modeOverride: ModeOverride | undefined,
): Promise<ExtProcReply> => {
  const { resolved, shape } = accepted
  const called = state.record.called(resolved)
  // Awaited below; until then its error must not count as unhandled.
  called.catch(() => {})
  const { head, tokens } = await evaluateRequest(state, accepted, resolved, NO_BODY)
  try {
    await called
    state.record.tokens = tokens
    if (shape !== undefined) return await transformBodiless(state, accepted, shape, edits, modeOverride, head)
    const all = (await head?.apply(edits, NO_BODY)) ?? edits
    return state.continueRequest(resolved, all, undefined, modeOverride)
  } finally {
    head?.release()
  }
}
