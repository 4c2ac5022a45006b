import { plainBody, type RequestBody } from '../body/plain.ts'
import type { Received } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * The body that is planned: as it came, or without its content-encoding when a transform takes it. Rejects with
 * `unsupported_media_type` and `malformed`.
 */
export const decode = <T extends Received>(
  request: T,
  { gateway }: RequestContext,
): (T & { readonly sent: RequestBody }) | Promise<T & { readonly sent: RequestBody }> => {
  const { bytes, contentType, contentEncoding, shape } = request
  const sent = { bytes, contentType, contentEncoding }
  if (shape === undefined || bytes.length === 0) return { ...request, sent }
  return plainBody(sent, gateway.options.body).then((plain) => ({
    ...request,
    sent: { bytes: plain, contentType, contentEncoding: undefined },
  }))
}
