/** One request whose body is streamed (docs/guides/streaming.md), from its headers to the last piece. */
import { PIECES_BYTES } from '../../control-plane/limits.ts'
import { growingWork } from '../../expressions/work.ts'
import type { UploadUpstream } from '../../ext-proc/contract.ts'
import type { UsedToken } from '../../sdk/index.ts'
import { createPartReader } from '../body/parts.ts'
import { checkUse, languageOf } from '../detokenize.ts'
import { effectiveCaller } from '../effective-caller.ts'
import { type Head, strippedNames } from '../headers.ts'
import { identifyAgain, ownerOf } from '../identify.ts'
import type { RequestState } from '../request-state.ts'
import type { ResolvedRequest } from '../resolve-request.ts'
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
  remove: readonly string[],
): Promise<ExtProcReply> => {
  const { prefix } = state
  const edits = state.editsOf(resolved, remove)
  return { kind: 'continue', prefix, edits, ...(await dialedUpstream(state, resolved)) }
}

export const pipe = async (
  state: RequestState,
  resolved: ResolvedRequest,
  flow: BodyStream,
  remove: readonly string[],
): Promise<void> => {
  const { deps, options, prefixes } = state.shared
  const work = growingWork()
  const language = languageOf(deps.expressions, await effectiveCaller(deps, resolved), work)
  const { contentType, contentEncoding } = resolved
  const use = async (ids: readonly string[]): Promise<ReadonlyMap<string, UsedToken>> => {
    const caller = await effectiveCaller(deps, await identifyAgain(deps, prefixes, resolved.request))
    checkUse(caller)
    if (ids.length === 0) return new Map()
    const context = { caller, traceId: state.record.traceId, now: deps.clock.now() }
    const used = await deps.vault.use(ids, { ...context, ...state.useOf(resolved) })
    state.record.tokens += used.size
    return used
  }
  return pipeBody({
    flow,
    reader: createPartReader(contentType, contentEncoding, language, options.body),
    work,
    limits: options.upload,
    timeoutMs: options.stepMs / 2,
    use: (ids) =>
      state.stepTimeout.within(
        options.stepMs,
        state.timed('use', () => use(ids)),
      ),
    // The announced length is not the one that it will have.
    release: async () => flow.write(await continueRequest(state, resolved, [...remove, 'content-length'])),
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
  const remove = strippedNames(head, prefixes)
  if (endOfStream) await flow.write(await continueRequest(state, resolved, remove))
  else await deps.uploads.run(0, () => pipe(state, resolved, flow, remove), ownerOf(resolved.caller))
}
