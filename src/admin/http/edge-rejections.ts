/** Problems of requests that Envoy rejects before they reach this process, and Node's parser accepts. */
import type { IncomingMessage } from 'node:http'
import { type Problem, problemOf } from '../../common/errors.ts'

/** Header lines, as at the edge. */
const HEADER_LINES = 250

const malformed = (detail: string, status?: number) => problemOf('malformed', detail, status)

const NO_UPGRADE = malformed(
  'Protocol upgrades are not supported. Send the request without an "upgrade" header.',
)
const NO_CODING = malformed(
  'The transfer coding is not supported. Send the body with a content-length, or chunked only.',
)
const NO_HOST = malformed('The request has no host header, or more than one. Send one.')
const NO_FRAGMENT = malformed('The path holds a "#". Send the request without a fragment.')
const NO_VERSION = malformed('This version of HTTP is not supported. Use HTTP/1.1.', 426)
export const NO_CONNECT = problemOf(
  'method_not_allowed',
  'CONNECT is not supported. Send the request without a tunnel.',
)
/** Methods of all routes. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const TOO_MANY_HEADERS = problemOf(
  'headers_too_large',
  'The request has too many or too large headers. Send fewer.',
)

const hostLines = (lines: readonly string[]): number => {
  let count = 0
  for (let at = 0; at < lines.length; at += 2)
    if (lines[at]?.length === 4 && lines[at]?.toLowerCase() === 'host') count++
  return count
}

export const edgeRejection = (request: IncomingMessage): Problem | undefined => {
  const { headers, httpVersion, rawHeaders } = request
  if (httpVersion !== '1.1') return NO_VERSION
  if (rawHeaders.length > 2 * HEADER_LINES) return TOO_MANY_HEADERS
  if (hostLines(rawHeaders) !== 1) return NO_HOST
  if (request.url?.includes('#')) return NO_FRAGMENT
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return NO_CODING
  if (headers.upgrade !== undefined && /(^|,)\s*upgrade\s*(,|$)/i.test(headers.connection ?? ''))
    return NO_UPGRADE
  return undefined
}
