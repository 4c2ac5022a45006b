import { AppError } from '../../common/errors.ts'
import type { Bound } from '../request.ts'

/** Headers of a request with a body, which would pass the gateway by. */
const OF_BODIES = ['content-length', 'content-type']

/**
 * Throws `malformed` for a WebSocket handshake with a body, or through a proxy whose code it would bypass or whose
 * certificates it cannot have: their connections may be HTTP/2, which Envoy does not upgrade.
 */
export const checkHandshake = (request: Bound): Bound => {
  const { method, head, proxy } = request
  if (method !== 'GET' || OF_BODIES.some((name) => head.has(name)))
    throw new AppError('malformed', 'A WebSocket handshake must be a GET without a body.')
  if (proxy?.requestTransform !== undefined || proxy?.responseTransform !== undefined)
    throw new AppError(
      'malformed',
      'The proxy has a transform, which a WebSocket would bypass. Use a proxy without one.',
    )
  if (proxy?.destinationTls !== undefined)
    throw new AppError(
      'malformed',
      'The proxy has certificates (destination_tls), with which a WebSocket does not work. Use a proxy without them.',
    )
  return request
}
