/** Phases of the request: its headers, and its body when Envoy buffers it. */

import { type Eventual, whenReady } from '../common/eventual.ts'
import type { StoredProxy } from '../sdk/index.ts'
import { detokenize, detokenizePlain } from './detokenize.ts'
import { effectiveCaller } from './effective-caller.ts'
import { type Edits, type Head, isFlagSet, merged, single, strippedNames } from './headers.ts'
import { callerStill } from './identify.ts'
import type { Accepted, RequestState } from './request-state.ts'
import { shapeOf } from './transform/content.ts'
import { withoutCoding } from './transform/run.ts'
import type { ExtProcReply, ModeOverride } from './types.ts'

const NO_BODY = Buffer.alloc(0)

/**
 * Envoy stops reading a response that fills its buffer before its headers are replied to, unless it collects it from the
 * first byte on: then it is rejected at once. Responses that may pass are never rejected for their size.
 */
const modeOverrideOf = (proxy: StoredProxy | undefined): ModeOverride | undefined => {
  if (proxy?.responseTransform === undefined) return undefined
  return proxy.responseOtherwise === 'pass' ? 'responseHeaders' : 'responseBody'
}

/** A WebSocket's handshake is its hop-by-hop headers. */
const HANDSHAKE = ['connection', 'upgrade']

const strippedOf = ({ shared, origin }: RequestState, head: Head): readonly string[] => {
  const stripped = strippedNames(head, shared.prefixes)
  return origin?.isBodyUnread ? stripped.filter((name) => !HANDSHAKE.includes(name)) : stripped
}

const lengthOf = (head: Head): number | undefined => {
  const length = single(head, 'content-length')
  return length === undefined ? undefined : Number(length)
}

export const acceptRequestHeaders = (
  state: RequestState,
  head: Head,
  endOfStream: boolean,
): Eventual<ExtProcReply> => {
  const { deps, prefixes } = state.shared
  if (isFlagSet(head, prefixes, 'stream')) throw new Error('a streamed body came in the buffered mode')
  const since = deps.clock.now()
  return whenReady(state.resolve(head, state.shared), (resolved) => {
    const length = endOfStream ? 0 : lengthOf(head)
    state.takeShare(resolved, length)
    const { proxy, contentType, dryRun } = resolved
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const accepted: Accepted = { resolved, since, head, stripped: strippedOf(state, head), shape }
    const edits = state.editsOf(resolved, accepted.stripped)
    const modeOverride = dryRun || state.origin?.isBodyUnread ? undefined : modeOverrideOf(proxy)
    state.accepted = accepted
    if (endOfStream) return acceptBodiless(state, accepted, edits, modeOverride)
    state.memory.wait(length)
    return { kind: 'buffered', prefix: state.prefix, edits, modeOverride }
  })
}

/** A request without a body goes out with the reply to its headers. */
const acceptBodiless = async (
  state: RequestState,
  accepted: Accepted,
  edits: Edits,
  modeOverride: ModeOverride | undefined,
): Promise<ExtProcReply> => {
  const { resolved, shape } = accepted
  await state.record.called(resolved)
  if (resolved.dryRun) return state.dryRun(accepted, NO_BODY)
  if (shape === undefined) return state.continueRequest(resolved, edits, undefined, modeOverride)
  const { edits: changes, body } = await state.transform(accepted, shape, NO_BODY)
  const set = new Map(changes.set)
  if (body.length === 0) set.delete('content-length')
  const all = merged(edits, { set, remove: changes.remove })
  return state.continueRequest(resolved, all, body.length === 0 ? undefined : body, modeOverride)
}

/** The error of a promise that is awaited later must not count as unhandled until then. */
const ignore = (): void => {}

export const acceptRequestBody = async (state: RequestState, bytes: Buffer): Promise<ExtProcReply> => {
  const { deps, options, prefixes } = state.shared
  const accepted = state.accepted
  if (accepted === undefined) throw new Error('a body came without accepted headers')
  const { shape, since } = accepted
  state.memory.stopWaiting()
  state.memory.resize(bytes.length)
  const now = deps.clock.now()
  const identifying = callerStill(deps, prefixes, accepted.resolved, now - since)
  const caller = identifying instanceof Promise ? await identifying : identifying
  const resolved = caller === accepted.resolved.caller ? accepted.resolved : { ...accepted.resolved, caller }
  const { contentType, contentEncoding, proxy } = resolved
  const called = state.record.called(resolved)
  if (resolved.dryRun) {
    await called
    return state.dryRun({ ...accepted, resolved }, bytes)
  }
  // The call's record and those of its tokens share a write.
  called.catch(ignore)
  const work = (shape === undefined ? detokenize : detokenizePlain)(
    { bytes, contentType, contentEncoding },
    { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed: state.timed },
    () => effectiveCaller(deps, resolved),
    { traceId: state.record.traceId, now: deps.clock.now(), ...state.useOf(resolved) },
  )
  const found = work instanceof Promise ? await work : work
  await called
  state.record.tokens = found.tokens
  const set = new Map([[state.traceHeader, state.record.traceId]])
  if (shape !== undefined) {
    const { edits, body } = await state.transform(accepted, shape, found.body ?? bytes)
    const all = merged({ set, remove: [] }, withoutCoding(edits, contentEncoding))
    return state.continueRequest(resolved, all, body, modeOverrideOf(proxy))
  }
  if (found.body !== undefined) set.set('content-length', `${found.body.length}`)
  const edits = { set, remove: found.decoded ? ['content-encoding'] : [] }
  return state.continueRequest(resolved, edits, found.body, modeOverrideOf(proxy))
}
