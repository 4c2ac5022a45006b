/** A body inside a tunnel that comes in pieces: its first part is complete before anything leaves (completions §15). */
import { AppError } from '../../common/errors.ts'
import { PIECES_BYTES } from '../../control-plane/limits.ts'
import { type Head, merged, single, strippedNames } from '../headers.ts'
import { ownerOf } from '../identify.ts'
import { acceptRequestBody } from '../request-phases.ts'
import type { RequestState } from '../request-state.ts'
import type { ResolvedRequest } from '../resolve-request.ts'
import { dialedUpstream, pipe } from '../streaming/streamed-request.ts'
import { shapeOf } from '../transform/content.ts'
import type { BodyChunk, BodyStream } from '../types.ts'

/** Bytes by which the share of a growing body grows. */
const STEP_BYTES = 1024 * 1024

/** Reads until the body ends or is longer than `limit`. */
const collect = async (state: RequestState, flow: BodyStream, limit: number): Promise<BodyChunk> => {
  const chunks: Buffer[] = []
  const end = performance.now() + state.shared.options.upload.ms
  let size = 0
  let counted = PIECES_BYTES
  for (;;) {
    const chunk = await flow.read(Math.max(0, end - performance.now()))
    if (chunk === undefined)
      throw new AppError('request_timeout', 'The body was not complete in time. Send it faster.')
    chunks.push(chunk.bytes)
    size += chunk.bytes.length
    if (size + STEP_BYTES > counted) {
      counted = size + STEP_BYTES
      state.memory.resize(counted)
    }
    if (chunk.isLast || size > limit) return { bytes: Buffer.concat(chunks, size), isLast: chunk.isLast }
  }
}

/** The flow with what was read of it before. */
const resumed = (flow: BodyStream, first: BodyChunk): BodyStream => {
  let pending: BodyChunk | undefined = first
  return {
    read: async (ms) => {
      const chunk = pending ?? (await flow.read(ms))
      pending = undefined
      return chunk
    },
    write: (response, ms) => flow.write(response, ms),
    end: (bytes) => flow.end(bytes),
  }
}

const needsBody = ({ proxy, upstream }: ResolvedRequest): boolean =>
  upstream === 'tls' || proxy?.requestTransform !== undefined || proxy?.responseTransform !== undefined

const tooLarge = (limit: number) =>
  new AppError(
    'too_large',
    `The proxy has a transform or certificates, which need the complete body, and it is larger than ${limit} bytes. Split it into several requests.`,
  )

/**
 * Throws for a proxy that needs the body: `too_large` for one that is longer than the limit, `malformed` for one without a
 * length where Envoy has to buffer it.
 */
const checkLength = (head: Head, resolved: ResolvedRequest, limit: number): void => {
  const length = single(head, 'content-length')
  if (length !== undefined && Number(length) > limit && needsBody(resolved)) throw tooLarge(limit)
  if (resolved.proxy?.responseTransform !== undefined || resolved.upstream === 'tls')
    throw new AppError(
      'malformed',
      'The proxy has a response transform or certificates, which need a body of known length. Send it with a content-length.',
    )
}

/** Rejects with what is wrong with the request, and when the caller goes. */
export const forwardTunneled = async (state: RequestState, head: Head, flow: BodyStream): Promise<void> => {
  const { deps, options, prefixes, bodyLimit } = state.shared
  const since = deps.steadyClock.now()
  const resolve = async (): Promise<ResolvedRequest> => {
    const resolved = await state.resolve(head, { ...state.shared, bodyLimit: options.upload.bytes })
    state.takeShare(resolved, PIECES_BYTES)
    checkLength(head, resolved, bodyLimit)
    return resolved
  }
  const resolved = await state.stepTimeout.within(options.stepMs, deps.admission.run(0, resolve))
  const stripped = strippedNames(head, prefixes, resolved.request)
  const first = await collect(state, flow, bodyLimit)
  if (!first.isLast) {
    if (needsBody(resolved)) throw tooLarge(bodyLimit)
    await state.record.called(resolved)
    const more = () => pipe(state, resolved, resumed(flow, first), stripped)
    return deps.uploads.run(0, more, ownerOf(resolved.caller))
  }
  const shape = resolved.proxy?.requestTransform === undefined ? undefined : shapeOf(resolved.contentType)
  state.accepted = { resolved, since, head, stripped, shape }
  const { bytes } = first
  const dialed = await dialedUpstream(state, resolved)
  const reply = await state.step(options.codeStepMs, bytes.length, () => acceptRequestBody(state, bytes))
  if (reply.kind !== 'continue') return flow.write(reply)
  const { body = bytes, ...released } = reply
  // Envoy sends a body that comes in pieces without a length.
  const edits = merged(state.editsOf(resolved, stripped), reply.edits)
  await flow.write({ ...released, ...dialed, edits })
  await flow.end(body)
}
