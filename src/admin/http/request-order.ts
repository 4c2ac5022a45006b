import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that one connection may send ahead of their responses. */
const PIPELINED = 64

/** The request of a connection that is being served, and what comes after it. */
interface Queue {
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
  const queues = new WeakMap<Socket, Queue>()
  const responded = new WeakSet<Socket>()

  const start = (queue: Queue, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    responded.delete(socket)
    queue.request = request
    queue.response = response
    response.once('close', () => {
      if (!request.complete) responded.add(socket)
      const next = socket.destroyed ? undefined : queue.waiting.shift()
      if (next === undefined) queues.delete(socket)
      else next()
    })
    serve(request, response)
  }

  return {
    serve: (request, response) => {
      const { socket } = request
      const queue = queues.get(socket)
      if (queue === undefined) {
        const own: Queue = { request, response, waiting: [] }
        queues.set(socket, own)
        start(own, request, response)
      } else if (queue.waiting.length < PIPELINED) queue.waiting.push(() => start(queue, request, response))
      else socket.destroy()
    },
    atLast: (socket, respond) => {
      const queue = queues.get(socket)
      if (queue === undefined)
        if (responded.has(socket)) socket.destroy()
        else respond()
      else if (queue.request.complete) queue.waiting.push(respond)
      else if (queue.response.headersSent) socket.destroy()
      else respond()
    },
  }
}
