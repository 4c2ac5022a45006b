import type { FastifyRequest } from 'fastify'
import { CLIENT_ADDRESS_HEADER } from '../../common/rate-limiter.ts'

/** Address of Envoy's client; undefined for calls from this machine. */
export const clientAddress = (request: FastifyRequest): string | undefined => {
  const value = request.raw.headers[CLIENT_ADDRESS_HEADER]
  return typeof value === 'string' ? value : undefined
}
