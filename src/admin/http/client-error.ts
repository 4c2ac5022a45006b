import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem } from '../../common/errors.ts'
import { newId } from '../../common/ids.ts'
import { JSON_TYPE } from './problem.ts'

/** ms that a client has to read the answer and close its side. */
const LINGER = 1_000

const problemOf = (code: string | undefined): Problem => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return {
      title: 'Request timed out',
      status: 408,
      detail: 'The request took too long to arrive. Send it again, faster.',
    }
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      title: 'Headers too large',
      status: 431,
      detail: 'Path and headers are larger than this service accepts. Send less.',
    }
  return {
    title: 'Malformed request',
    status: 400,
    detail: 'The request is not valid HTTP. Check what sends it.',
  }
}

/** Answers what the HTTP parser refused, in the one error shape, and closes the connection. */
export const clientErrorHandler =
  (traceIdName: string) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const problem = problemOf(error.code)
    const body = JSON.stringify(problem)
    socket.end(
      [
        `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
        `content-type: ${JSON_TYPE}`,
        `content-length: ${Buffer.byteLength(body)}`,
        `${traceIdName}: ${newId()}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    )
    setTimeout(() => socket.destroy(), LINGER).unref()
  }
