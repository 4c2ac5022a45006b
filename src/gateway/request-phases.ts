/** Phases of the request: its headers, and its body when Envoy buffers it. */

import { type Eventual, whenReady } from '../common/eventual.ts'
import type { StoredProxy } from '../sdk/index.ts'
import { acceptBodiless, ignore } from './bodiless-request.ts'
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
const modeOverrideOf = (proxy: StoredProxy | undefined): ModeOverride | undefined => {
  if (proxy?.responseTransform === undefined) return undefined
  return proxy.responseOtherwise === 'pass' ? 'responseHeaders' : 'responseBody'
}

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
    const { proxy, contentType, dryRun } = resolved
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const accepted: Accepted = { resolved, since, head, stripped: strippedOf(state, resolved), shape }
    const edits = state.editsOf(resolved, accepted.stripped)
    const modeOverride = dryRun || state.origin?.isBodyUnread ? undefined : modeOverrideOf(proxy)
    state.accepted = accepted
    if (endOfStream) return acceptBodiless(state, accepted, edits, modeOverride)
    state.memory.wait(length)
    const isConsole = resolved.request.session !== undefined
    return { kind: 'buffered', prefix: state.prefix, edits, modeOverride, isConsole }
  })
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
  const work = evaluateRequest(state, accepted, resolved, bytes)
  const found = work instanceof Promise ? await work : work
  const { head } = found
  try {
    await called
    state.record.tokens = found.tokens
    const plain = found.body ?? bytes
    const current = { ...accepted, resolved }
    const transformed = shape === undefined ? undefined : await state.transform(current, shape, plain)
    const { edits, body } = outgoing(state, resolved, found, transformed)
    // Expressions in headers, path or query, which may read the body.
    const all = head === undefined ? edits : await head.apply(edits, body ?? bytes)
    return state.continueRequest(resolved, all, body, modeOverrideOf(resolved.proxy))
  } finally {
    head?.release()
  }
}

/** The request with its values in, and as its transform returned it; without `body` that stays as it came. */
const outgoing = (
  state: RequestState,
  { contentEncoding }: ResolvedRequest,
  { body, decoded }: Detokenized,
  transformed: Transformed | undefined,
): { readonly edits: Edits; readonly body: Buffer | undefined } => {
  const set = new Map([[state.traceHeader, state.record.traceId]])
  if (transformed !== undefined) {
    const edits = merged({ set, remove: [] }, withoutCoding(transformed.edits, contentEncoding))
    return { edits, body: transformed.body }
  }
  if (body !== undefined) set.set('content-length', `${body.length}`)
  return { edits: { set, remove: decoded ? ['content-encoding'] : [] }, body }
}
