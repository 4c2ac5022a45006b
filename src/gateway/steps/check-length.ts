/** Bodies that announce more bytes than are allowed. */
import { AppError } from '../../common/errors.ts'
import { single } from '../headers.ts'
import type { Identified } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

const check = (request: Identified, limit: number): Identified => {
  if (Number(single(request.head, 'content-length') ?? 0) > limit)
    throw new AppError('too_large', `The body is larger than ${limit} bytes. Send a smaller one.`)
  return request
}

/** Throws `too_large` for a body above the limit of buffered ones. */
export const checkLength = (request: Identified, { gateway }: RequestContext): Identified =>
  check(request, gateway.bodyLimit)

/** Throws `too_large` for a body above the limit of streamed ones. */
export const checkUploadLength = (request: Identified, { gateway }: RequestContext): Identified =>
  check(request, gateway.options.upload.bytes)
