/** Bodies as a dry run shows them. */
import { isUtf8 } from 'node:buffer'
import { codingsOf } from '../../common/decode-content.ts'
import type { Json } from '../../common/json.ts'
import { contentOf } from '../body/content.ts'
import type { BodyLimits } from '../body/limits.ts'
import { plainBody, type RequestBody } from '../body/plain.ts'
import { readBody, shapeOf } from '../transform/content.ts'

/** Bytes of a body that is shown. */
const SHOWN_BYTES = 256 * 1024

/** The body without its coding, where that can be undone and what is under it could hold an expression. */
export const decodedBody = async (sent: RequestBody, limits: BodyLimits): Promise<RequestBody> => {
  const { contentType, contentEncoding } = sent
  if (contentEncoding === undefined || codingsOf(contentEncoding) === undefined) return sent
  if (contentType !== undefined && contentOf(contentType).kind === 'binary') return sent
  return { bytes: await plainBody(sent, limits), contentType, contentEncoding: undefined }
}

/** JSON and forms as values, other text as a string; undefined when there is nothing, or nothing that can be shown. */
export const shownBody = async ({
  bytes,
  contentType,
  contentEncoding,
}: RequestBody): Promise<Json | undefined> => {
  if (bytes.length === 0 || bytes.length > SHOWN_BYTES || contentEncoding !== undefined) return undefined
  const shape = shapeOf(contentType)
  if (shape !== undefined)
    try {
      return await readBody(shape, bytes)
    } catch {}
  return isUtf8(bytes) ? bytes.toString() : undefined
}
