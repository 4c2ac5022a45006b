/** Phases of the request: its headers, and its body when Envoy buffers it. */

import { type Eventual, whenReady } from '../common/eventual.ts'
import { UNCHANGED } from './detokenize.ts'
import { type Edits, type Head, isFlagSet, merged, single, strippedNames } from './headers.ts'
import { refreshCaller } from './identify.ts'
import type { Accepted, RequestState } from './request-state.ts'
import { evaluateRequest } from './request-values.ts'
import type { ResolvedRequest } from './resolve-request.ts'
import type { Detokenized } from './surfaces/types.ts'
import { shapeOf } from './transform/content.ts'
import { type Transformed, withoutCoding } from './transform/run.ts'
import type { ExtProcReply, ModeOverride } from './types.ts'

/**
 * Envoy stops reading a response that fills its buffer before its headers are replied to, unless it collects it from the
 * first byte on: then it is rejected at once. Responses that may pass are never rejected for their size.
 */
const modeOverrideOf = (
  { origin }: RequestState,
  { proxy, dryRun }: ResolvedRequest,
): ModeOverride | undefined => {
  if (proxy?.responseTransform === undefined || dryRun || origin?.isBodyUnread) return undefined
  return proxy.responseOtherwise === 'pass' ? 'responseHeaders' : 'responseBody'
}

const NO_BODY = Buffer.alloc(0)

/** The error of a promise that is awaited later must not count as unhandled until then. */
const ignore = (): void => {}

/** A WebSocket's handshake is its hop-by-hop headers. */
const HANDSHAKE = ['connection', 'upgrade']

const strippedOf = ({ shared, origin }: RequestState, { request }: ResolvedRequest): readonly string[] => {
  const stripped = strippedNames(request.head, shared.prefixes, request)
  return origin?.isBodyUnread ? stripped.filter((name) => !HANDSHAKE.includes(name)) : stripped
}

const lengthOf = (head: Head): number | undefined => {
  const length = single(head, 'content-length')
  return length === undefined ? undefined : Number(length)
}

/**
 * Accepts the headers of a request: resolves caller, proxy and destination, and takes the owner's share of memory. The
 * reply continues a request without a body, else asks Envoy for the body. Fails as `RequestState.resolve` does, and
 * with `rate_limited` when the owner has its share.
 */
export const acceptRequestHeaders = (
  state: RequestState,
  head: Head,
  endOfStream: boolean,
): Eventual<ExtProcReply> => {
  const { deps, prefixes } = state.shared
  const since = deps.steadyClock.now()
  return whenReady(state.resolve(head, state.shared), (resolved) => {
    if (isFlagSet(head, prefixes, 'stream')) throw new Error('a streamed body came in the buffered mode')
    const length = endOfStream ? 0 : lengthOf(head)
    state.record.requestBytes = length
    state.takeShare(resolved, length)
    const { proxy, contentType } = resolved
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const accepted: Accepted = { resolved, since, head, stripped: strippedOf(state, resolved), shape }
    const edits = state.editsOf(resolved, accepted.stripped)
    state.accepted = accepted
    if (endOfStream) return acceptBodiless(state, edits)
    state.memory.wait(length)
    const isConsole = resolved.request.session !== undefined
    const modeOverride = modeOverrideOf(state, resolved)
    return { kind: 'buffered', prefix: state.prefix, edits, modeOverride, isConsole }
  })
}

/** A request without a body goes out with the reply to its headers, which has these edits. */
const acceptBodiless = async (state: RequestState, edits: Edits): Promise<ExtProcReply> => {
  const reply = await acceptRequestBody(state, NO_BODY)
  return reply.kind === 'continue' ? { ...reply, edits: merged(edits, reply.edits) } : reply
}

/**
 * Accepts the complete body: records the call, replaces tokens, runs the request transform and evaluates headers, path
 * and query. The reply forwards the request, or returns the plan of a dry run. Nothing leaves before all records are
 * written. Rejects as authentication, `evaluateRequest` and the transform do, and when the journal cannot be written.
 */
export const acceptRequestBody = async (state: RequestState, bytes: Buffer): Promise<ExtProcReply> => {
  const { deps, prefixes } = state.shared
  const accepted = state.accepted
  if (accepted === undefined) throw new Error('a body came without accepted headers')
  const { shape, since } = accepted
  state.record.requestBytes = bytes.length
  state.memory.stopWaiting()
  state.memory.resize(bytes.length)
  const ms = deps.steadyClock.now() - since
  const identifying = refreshCaller(deps, prefixes, accepted.resolved, ms)
  const caller = identifying instanceof Promise ? await identifying : identifying
  const resolved = caller === accepted.resolved.caller ? accepted.resolved : { ...accepted.resolved, caller }
  const called = state.record.called(resolved)
  if (resolved.dryRun) {
    await called
    return state.dryRun({ ...accepted, resolved }, bytes)
  }
  // The call's record and those of its tokens share a write.
  called.catch(ignore)
  const isEmpty = bytes.length === 0 && !resolved.hasBraces
  const work = isEmpty ? UNCHANGED : evaluateRequest(state, accepted, resolved, bytes)
  const found = work instanceof Promise ? await work : work
  const { head } = found
  try {
    await called
    state.record.tokens = found.tokens
    const plain = found.body ?? bytes
    const current = { ...accepted, resolved }
    const transformed = shape === undefined ? undefined : await state.transform(current, shape, plain)
    const { edits, body } = outgoing(state, resolved, bytes, found, transformed)
    // Expressions in headers, path or query, which may read the body.
    const all = head === undefined ? edits : await head.apply(edits, body ?? bytes)
    return state.continueRequest(resolved, all, body, modeOverrideOf(state, resolved))
  } finally {
    head?.release()
  }
}

/** The request with its values in, and as its transform returned it; without `body` that stays as it came. */
const outgoing = (
  state: RequestState,
  { contentEncoding }: ResolvedRequest,
  sent: Buffer,
  { body, decoded }: Detokenized,
  transformed: Transformed | undefined,
): { readonly edits: Edits; readonly body: Buffer | undefined } => {
  const set = new Map([[state.traceHeader, state.record.traceId]])
  if (transformed !== undefined) {
    const { set: own, remove } = withoutCoding(transformed.edits, contentEncoding)
    const all = new Map([...set, ...own])
    const stays = sent.length === 0 && transformed.body.length === 0
    if (stays) all.delete('content-length')
    return { edits: { set: all, remove }, body: stays ? undefined : transformed.body }
  }
  if (body !== undefined) set.set('content-length', `${body.length}`)
  return { edits: { set, remove: decoded ? ['content-encoding'] : [] }, body }
}
