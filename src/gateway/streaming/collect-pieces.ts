/**
 * The first part of a body that comes in pieces: complete before anything leaves, when it is short (completions §15).
 */
import { AppError } from '../../common/errors.ts'
import { PIECES_BYTES } from '../../control-plane/limits.ts'
import type { BodyChunk, BodyStream } from '../types.ts'

/** Bytes by which the share of a growing body grows. */
const STEP_BYTES = 1024 * 1024

/**
 * Reads until the body ends or is longer than `limit`, for `ms` at most; `resize` counts its bytes, and may throw.
 * Rejects with `request_timeout`.
 */
export const collectPieces = async (
  flow: BodyStream,
  { limit, ms }: { readonly limit: number; readonly ms: number },
  resize: (bytes: number) => void,
): Promise<BodyChunk> => {
  const chunks: Buffer[] = []
  const end = performance.now() + ms
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
      resize(counted)
    }
    if (chunk.isLast || size > limit) return { bytes: Buffer.concat(chunks, size), isLast: chunk.isLast }
  }
}

/** The flow with what was read of it before. */
export const resumed = (flow: BodyStream, part: BodyChunk): BodyStream => {
  let pending: BodyChunk | undefined = part
  return {
    read: async (ms) => {
      const chunk = pending ?? (await flow.read(ms))
      pending = undefined
      return chunk
    },
    write: (reply, ms) => flow.write(reply, ms),
    end: (bytes) => flow.end(bytes),
  }
}
