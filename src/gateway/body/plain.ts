import { codingsOf, decode } from '../../common/decode-content.ts'
import { AppError } from '../../common/errors.ts'
import type { BodyLimits } from './limits.ts'

export interface RequestBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** A body without its content-encoding. Rejects with `unsupported_media_type` for one that is not known. */
export const plainBody = async (
  { bytes, contentEncoding }: RequestBody,
  limits: BodyLimits,
): Promise<Buffer> => {
  const codings = codingsOf(contentEncoding)
  if (codings === undefined)
    throw new AppError(
      'unsupported_media_type',
      'The body has a content-encoding that cannot be undone. Send it as gzip, deflate, br, or as it is.',
    )
  return codings.length === 0 ? bytes : decode(bytes, codings, limits.decodedBytes)
}
