/** Phases of the request: its headers, and its body when Envoy buffers it. */

import { type Eventual, whenReady } from '../common/eventual.ts'
import type { StoredProxy } from '../sdk/index.ts'
import { type Detokenized, detokenize, detokenizePlain, type EvaluatedHead } from './detokenize.ts'
import { effectiveCaller } from './effective-caller.ts'
import { type Edits, type Head, isFlagSet, merged, single, strippedNames } from './headers.ts'
import { callerStill } from './identify.ts'
import type { Accepted, RequestState } from './request-state.ts'
import type { ResolvedRequest } from './resolve-request.ts'
import type { RequestHead } from './surfaces/plan.ts'
import { type Shape, shapeOf } from './transform/content.ts'
import { type Transformed, withoutCoding } from './transform/run.ts'
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

/** The error of a promise that is awaited later must not count as unhandled until then. */
const ignore = (): void => {}

/** Undefined: the body is the only surface that this request has. */
const headOf = (
  { shared: { prefixes } }: RequestState,
  { head, stripped }: Accepted,
  { path, surfaces, hasBraces, proxy }: ResolvedRequest,
): RequestHead | undefined =>
  !hasBraces && surfaces.includes('body')
    ? undefined
    : { head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: false }

/** A request without a body goes out with the reply to its headers. */
const acceptBodiless = async (
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
  return state.continueRequest(accepted.resolved, evaluated?.apply(all, body) ?? all, sent, modeOverride)
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
  called.catch(ignore)
  const { head, tokens } = await evaluate(state, accepted, resolved, NO_BODY)
  try {
    await called
    state.record.tokens = tokens
    if (shape !== undefined) return await transformBodiless(state, accepted, shape, edits, modeOverride, head)
    const all = head?.apply(edits, NO_BODY) ?? edits
    return state.continueRequest(resolved, all, undefined, modeOverride)
  } finally {
    head?.release()
  }
}

/** Values for the expressions of a request with this body; plain when a transform takes it. */
const evaluate = (
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

export const acceptRequestBody = async (state: RequestState, bytes: Buffer): Promise<ExtProcReply> => {
  const { deps, prefixes } = state.shared
  const accepted = state.accepted
  if (accepted === undefined) throw new Error('a body came without accepted headers')
  const { shape, since } = accepted
  state.memory.stopWaiting()
  state.memory.resize(bytes.length)
  const now = deps.clock.now()
  const identifying = callerStill(deps, prefixes, accepted.resolved, now - since)
  const caller = identifying instanceof Promise ? await identifying : identifying
  const resolved = caller === accepted.resolved.caller ? accepted.resolved : { ...accepted.resolved, caller }
  const called = state.record.called(resolved)
  if (resolved.dryRun) {
    await called
    return state.dryRun({ ...accepted, resolved }, bytes)
  }
  // The call's record and those of its tokens share a write.
  called.catch(ignore)
  const work = evaluate(state, accepted, resolved, bytes)
  const found = work instanceof Promise ? await work : work
  const current = { ...accepted, resolved }
  if (found.head !== undefined) return releaseEvaluated(state, current, bytes, found, found.head, called)
  await called
  state.record.tokens = found.tokens
  const transformed =
    shape === undefined ? undefined : await state.transform(current, shape, found.body ?? bytes)
  return release(state, resolved, bytes, found, transformed)
}

/** The same with expressions in headers, path or query, whose values are needed to the end. */
const releaseEvaluated = async (
  state: RequestState,
  accepted: Accepted,
  bytes: Buffer,
  found: Detokenized,
  head: EvaluatedHead,
  called: Promise<void>,
): Promise<ExtProcReply> => {
  const { resolved, shape } = accepted
  try {
    await called
    state.record.tokens = found.tokens
    const transformed =
      shape === undefined ? undefined : await state.transform(accepted, shape, found.body ?? bytes)
    return release(state, resolved, bytes, found, transformed)
  } finally {
    head.release()
  }
}

/** The request with its values in, and as its transform returned it. */
const release = (
  state: RequestState,
  resolved: ResolvedRequest,
  bytes: Buffer,
  { body: replaced, decoded, head }: Detokenized,
  transformed: Transformed | undefined,
): ExtProcReply => {
  const set = new Map([[state.traceHeader, state.record.traceId]])
  const body = transformed === undefined ? replaced : transformed.body
  let edits: Edits
  if (transformed !== undefined)
    edits = merged({ set, remove: [] }, withoutCoding(transformed.edits, resolved.contentEncoding))
  else {
    if (body !== undefined) set.set('content-length', `${body.length}`)
    edits = { set, remove: decoded ? ['content-encoding'] : [] }
  }
  const all = head?.apply(edits, body ?? bytes) ?? edits
  return state.continueRequest(resolved, all, body, modeOverrideOf(resolved.proxy))
}
