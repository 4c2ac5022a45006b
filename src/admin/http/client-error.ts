import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type AppError, type Problem, problemOf } from '../../common/errors.ts'
import type { PrefixedHeaders } from './header-prefixes.ts'
import { JSON_TYPE } from './problem.ts'

/** ms for the client to read the response and close its side. */
const LINGER = 1_000

/** The parser's error for a request that it rejected. */
interface ParserError extends Error {
  readonly code?: string
  /** The bytes that were read last. */
  readonly rawPacket?: unknown
}

/** A request line whose method the parser may not know. */
const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]{1,100}) (\/[^ ]*) HTTP\/1\.[01]\r?\n/

/** The problem for a request whose path and method match no route. */
export type Unmatched = (request: { readonly method: string; readonly url: string }) => AppError

const rejectionOf = ({ code, rawPacket }: ParserError, unmatched: Unmatched): AppError | undefined => {
  if (code !== 'HPE_INVALID_METHOD' || !Buffer.isBuffer(rawPacket)) return
  const [, method, url] = REQUEST_LINE.exec(rawPacket.toString('latin1')) ?? []
  return method === undefined || url === undefined ? undefined : unmatched({ method, url })
}

/** Headers that were read so far; other lines are skipped. */
const headersOf = ({ rawPacket }: ParserError): IncomingHttpHeaders => {
  if (!Buffer.isBuffer(rawPacket)) return {}
  const [head = ''] = rawPacket.toString('latin1').split('\r\n\r\n', 1)
  const lines = [...head.matchAll(/^([\w-]{1,100}):(.*)$/gm)]
  return Object.fromEntries(lines.map(([, name, value]) => [name!.toLowerCase(), value!.trim()]))
}

const parserProblem = (code: string | undefined): Problem => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return problemOf('request_timeout', 'The request took too long to arrive. Send it again, faster.')
  if (code === 'HPE_HEADER_OVERFLOW')
    return problemOf('headers_too_large', 'Path and headers are too large. Send less.')
  if (code === 'HPE_PAUSED_H2_UPGRADE')
    return problemOf('malformed', 'HTTP/2 and gRPC are not served here. Use HTTP/1.1, or the edge.', 426)
  return problemOf('malformed', 'The request is not valid HTTP. Check the client.')
}

/** Writes a problem to a connection without a response object, then closes it. */
export const endWithProblem = (
  socket: Socket,
  problem: Problem,
  { traceIdName, traceId }: Pick<PrefixedHeaders, 'traceIdName' | 'traceId'>,
  allow?: readonly string[],
): void => {
  const body = JSON.stringify(problem)
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
      `content-type: ${JSON_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `${traceIdName}: ${traceId}`,
      ...(allow ? [`allow: ${allow.join(', ')}`] : []),
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  setTimeout(() => socket.destroy(), LINGER).unref()
}

/**
 * Responds to requests that the HTTP parser rejected: the common error shape, with the trace id if it was read. Closes
 * the connection. Unknown methods get the problem of `unmatched`, as known ones do.
 */
export const clientErrorHandler =
  (prefixes: (headers: IncomingHttpHeaders) => PrefixedHeaders, unmatched: Unmatched) =>
  (error: ParserError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const rejection = rejectionOf(error, unmatched)
    const problem = rejection?.toProblem() ?? parserProblem(error.code)
    endWithProblem(socket, problem, prefixes(headersOf(error)), rejection?.allow)
  }
