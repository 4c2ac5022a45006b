/** What keeps a body from being streamed. */
import { AppError } from '../../common/errors.ts'
import { single } from '../headers.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

/** Throws `malformed` for an upload that needs its complete body. */
export const checkStreamable = (request: Resolved): Resolved => {
  const { dryRun, proxy, upstream } = request
  if (upstream === 'tls')
    throw new AppError(
      'malformed',
      'A proxy with client certificates does not stream bodies. Send the request without streaming.',
    )
  if (dryRun)
    throw new AppError('malformed', 'A dry run needs the complete body. Send the request without streaming.')
  if (proxy?.requestTransform !== undefined || proxy?.responseTransform !== undefined)
    throw new AppError(
      'malformed',
      'The proxy has a transform, which needs the complete body. Send the request without streaming.',
    )
  return request
}

const needsBody = ({ proxy, upstream }: Resolved): boolean =>
  upstream === 'tls' || proxy?.requestTransform !== undefined || proxy?.responseTransform !== undefined

const tooLarge = (limit: number) =>
  new AppError(
    'too_large',
    `The proxy has a transform or certificates, which need the complete body, and it is larger than ${limit} bytes. Split it into several requests.`,
  )

/**
 * A body inside a tunnel that comes in pieces. Throws for a proxy that needs it: `too_large` for one that is longer
 * than the limit, `malformed` for one without a length where Envoy has to buffer it.
 */
export const checkPieces = (request: Resolved, { gateway }: RequestContext): Resolved => {
  const { head, proxy, upstream } = request
  const length = single(head, 'content-length')
  if (length !== undefined && Number(length) > gateway.bodyLimit && needsBody(request))
    throw tooLarge(gateway.bodyLimit)
  if (proxy?.responseTransform !== undefined || upstream === 'tls')
    throw new AppError(
      'malformed',
      'The proxy has a response transform or certificates, which need a body of known length. Send it with a content-length.',
    )
  return request
}

/** Throws `too_large` for a body that turned out to be longer than the limit, when its proxy needs it. */
export const checkUpload = (request: Resolved, { gateway }: RequestContext): Resolved => {
  if (needsBody(request)) throw tooLarge(gateway.bodyLimit)
  return request
}
