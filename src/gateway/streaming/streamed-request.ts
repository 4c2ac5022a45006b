/** One request whose body is streamed (docs/guides/streaming.md), from its headers to the last piece. */
import { PIECES_BYTES } from '../../control-plane/limits.ts'
import { growingWork } from '../../expressions/work.ts'
import type { UploadUpstream } from '../../ext-proc/contract.ts'
import type { UsedToken } from '../../sdk/index.ts'
import { createPartReader } from '../body/parts.ts'
import { effectiveCaller } from '../effective-caller.ts'
import { type Edits, type Head, strippedNames } from '../headers.ts'
import { ownerOf, reauthenticate } from '../identify.ts'
import { checkUse, languageOf } from '../language.ts'
import type { RequestState } from '../request-state.ts'
import type { ResolvedRequest } from '../resolve-request.ts'
import { checkClosed, createClosedReader } from '../surfaces/closed.ts'
import { checkPaths, evaluate } from '../surfaces/evaluate.ts'
import type { BodyStream, ExtProcReply } from '../types.ts'
import { checkStreamable, pipeBody } from './pipe-body.ts'

/** The upstream of a request whose body comes in pieces: the address that its host has now. */
export const dialedUpstream = async (
  state: RequestState,
  { destination: { upstream, host, port } }: ResolvedRequest,
): Promise<{ readonly upstream: UploadUpstream; readonly address?: string }> => {
  const { deps, options } = state.shared
  if (upstream === 'demo') return { upstream }
  const address = await state.stepTimeout.within(options.stepMs, deps.dial(host, port))
  return { upstream: `dialed_${upstream === 'http' ? 'http' : 'https'}`, address }
}

/** The reply that lets the request go. */
const continueRequest = async (
  state: RequestState,
  resolved: ResolvedRequest,
  edits: Edits,
): Promise<ExtProcReply> => {
  const { prefix } = state
  return { kind: 'continue', prefix, edits, ...(await dialedUpstream(state, resolved)) }
}

const callerNow = async ({ shared: { deps, prefixes } }: RequestState, resolved: ResolvedRequest) =>
  effectiveCaller(deps, await reauthenticate(deps, prefixes, resolved.request))

const NO_BODY = Buffer.alloc(0)

/** Edits of a request whose body is streamed: its headers, path and query have their values before it starts. */
const editsOf = async (
  state: RequestState,
  resolved: ResolvedRequest,
  stripped: readonly string[],
): Promise<Edits> => {
  const { deps, options, prefixes } = state.shared
  const { request, proxy, path, surfaces, hasBraces } = resolved
  const edits = state.editsOf(resolved, stripped)
  if (!hasBraces) return edits
  const source = { head: request.head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: true }
  const { head, tokens } = await evaluate(
    await callerNow(state, resolved),
    source,
    undefined,
    { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed: state.timed },
    { traceId: state.record.traceId, now: deps.clock.now(), ...state.useOf(resolved) },
  )
  state.record.tokens += tokens
  try {
    return (await head?.apply(edits, NO_BODY)) ?? edits
  } finally {
    head?.release()
  }
}

export const pipe = async (
  state: RequestState,
  resolved: ResolvedRequest,
  flow: BodyStream,
  stripped: readonly string[],
): Promise<void> => {
  const { deps, options } = state.shared
  const work = growingWork()
  const language = languageOf(deps.expressions, await effectiveCaller(deps, resolved), work)
  const { contentType, contentEncoding, surfaces } = resolved
  const isOpen = surfaces.includes('body')
  const within = <T>(work: Promise<T>) => state.stepTimeout.within(options.stepMs, work)
  const edits = await within(editsOf(state, resolved, stripped))
  const path = String(edits.set.get(':path'))
  const use = async (ids: readonly string[]): Promise<ReadonlyMap<string, UsedToken>> => {
    const caller = await callerNow(state, resolved)
    const now = deps.clock.now()
    if (!isOpen) {
      await checkClosed(deps.vault, [{ place: 'body', ids }], { caller, now })
      return new Map()
    }
    checkUse(caller)
    if (ids.length === 0) return new Map()
    const context = { caller, traceId: state.record.traceId, now }
    const used = await deps.vault.use(ids, { ...context, ...state.useOf(resolved) })
    state.record.tokens += used.size
    if (resolved.hasBraces) checkPaths(used, path)
    return used
  }
  return pipeBody({
    flow,
    reader: isOpen
      ? createPartReader(contentType, contentEncoding, language, options.body)
      : createClosedReader(contentType, contentEncoding),
    work,
    limits: options.upload,
    timeoutMs: options.stepMs / 2,
    use: (ids) => within(state.timed('use', () => use(ids))),
    // The announced length is not the one that it will have.
    release: async () =>
      flow.write(
        await continueRequest(state, resolved, { ...edits, remove: [...edits.remove, 'content-length'] }),
      ),
  })
}

/** Resolves when all of it went out. Rejects with what is wrong with it, and when the caller goes. */
export const forwardStream = async (
  state: RequestState,
  head: Head,
  endOfStream: boolean,
  flow: BodyStream,
): Promise<void> => {
  const { deps, options, prefixes } = state.shared
  const resolve = async (): Promise<ResolvedRequest> => {
    const resolved = await state.resolve(head, { ...state.shared, bodyLimit: options.upload.bytes })
    state.takeShare(resolved, PIECES_BYTES)
    checkStreamable(resolved)
    await state.record.called(resolved)
    return resolved
  }
  const resolved = await state.stepTimeout.within(options.stepMs, deps.admission.run(0, resolve))
  const stripped = strippedNames(head, prefixes, resolved.request)
  if (endOfStream) {
    const edits = await state.stepTimeout.within(options.stepMs, editsOf(state, resolved, stripped))
    await flow.write(await continueRequest(state, resolved, edits))
  } else await deps.uploads.run(0, () => pipe(state, resolved, flow, stripped), ownerOf(resolved.caller))
}
