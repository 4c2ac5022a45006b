import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that one connection may send ahead of their responses. */
const PIPELINED = 64

/** The request of a connection that is being served, and what comes after it. */
interface Line {
  request: IncomingMessage
  response: ServerResponse
  readonly waiting: (() => void)[]
}

/**
 * Requests of a connection run one after the other (RFC 9112 §9.3.2), and what the parser rejects or hands over
 * (`atLast`) gets its response after those of the requests before it. A connection is closed when too many requests
 * wait, and when the body of a request that has its response turns out to be malformed: a second response would be read
 * as that of another request.
 */
export const inOrder = (
  serve: RequestListener,
): {
  readonly serve: RequestListener
  /** Runs `respond` once no earlier request of the connection waits for its response. */
  readonly atLast: (socket: Socket, respond: () => void) => void
} => {
  const lines = new WeakMap<Socket, Line>()
  const responded = new WeakSet<Socket>()

  const start = (line: Line, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    responded.delete(socket)
    line.request = request
    line.response = response
    response.once('close', () => {
      if (!request.complete) responded.add(socket)
      const next = socket.destroyed ? undefined : line.waiting.shift()
      if (next === undefined) lines.delete(socket)
      else next()
    })
    serve(request, response)
  }

  return {
    serve: (request, response) => {
      const { socket } = request
      const line = lines.get(socket)
      if (line === undefined) {
        const own: Line = { request, response, waiting: [] }
        lines.set(socket, own)
        start(own, request, response)
      } else if (line.waiting.length < PIPELINED) line.waiting.push(() => start(line, request, response))
      else socket.destroy()
    },
    atLast: (socket, respond) => {
      const line = lines.get(socket)
      if (line === undefined)
        if (responded.has(socket)) socket.destroy()
        else respond()
      else if (line.request.complete) line.waiting.push(respond)
      else if (line.response.headersSent) socket.destroy()
      else respond()
    },
  }
}
