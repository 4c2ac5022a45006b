/**
 * One ext_proc stream: reads Envoy's messages, lets an exchange decide, writes its replies. Knows Envoy's message forms,
 * nothing of proxies.
 *
 * A stream that ends with status OK before its last reply would let Envoy send the request, or the destination's
 * response, on as it is. So this side never ends a stream first: Envoy does, or it is broken off, which fails the request.
 */
import type { Log } from '../common/log.ts'
import type { Call, CallHandler } from '../ext-proc/call.ts'
import type { StartExchange } from './exchange.ts'
import type { Head } from './headers.ts'
import { decodeRequest, encodeReply, type Phase, type ProcessingRequest } from './messages.ts'
import { createFlow, type FlowInput } from './streaming/body-buffer.ts'
import type { Exchange, ExtProcReply } from './types.ts'

/** The message that may come next, if any may. */
const phaseAfter = (response: ExtProcReply, phase: Phase): Phase | 'done' => {
  if (response.kind === 'buffered' && phase === 'request_headers') return 'request_body'
  if (response.kind === 'continue' && response.modeOverride) return 'response_headers'
  return response.kind === 'bufferedResponse' ? 'response_body' : 'done'
}

/** Serves one call to its end; `start` makes the exchange when headers come. */
export const serveStream = (call: Call, start: StartExchange, log: Log): CallHandler => {
  let phase: Phase | 'done' = 'request_headers'
  let busy = false
  let over = false
  let exchange: Exchange | undefined
  let input: FlowInput | undefined
  /** The last piece of a streamed body, or its trailers, have arrived. */
  let ended = false

  const close = () => {
    over = true
    exchange?.cancel()
    input?.giveUp()
    exchange = undefined
  }
  const fail = (why: string) => {
    if (over) return
    log.warn({ why }, 'ext_proc stream broken off')
    close()
    call.reset()
  }

  /** Sends the reply in the place of the body that `waiting` is the phase of, unless that has come. */
  const rejectBody = (reply: ExtProcReply, waiting: Phase) => {
    if (over || busy || phase !== waiting) return
    call.send(...encodeReply(reply, waiting))
    phase = 'done'
  }

  const decide = (message: ProcessingRequest): Promise<ExtProcReply> | undefined => {
    if (message.kind !== phase) return undefined
    if (message.kind === 'request_headers') {
      exchange = start()
      return exchange.onRequestHeaders(message.head, message.endOfStream)
    }
    if (message.kind === 'request_body') return exchange?.onRequestBody(message.body)
    if (message.kind === 'response_headers')
      return exchange?.onResponseHeaders(message.head, message.endOfStream)
    return message.kind === 'response_body' ? exchange?.onResponseBody(message.body) : undefined
  }

  const step = async (message: ProcessingRequest): Promise<void> => {
    const deciding = decide(message)
    if (deciding === undefined || phase === 'done') return fail(`unexpected message in phase "${phase}"`)
    const response = await deciding
    if (over) return
    const responded = phase
    phase = phaseAfter(response, responded)
    call.send(...encodeReply(response, responded))
    const waiting = phase
    if (waiting === 'request_body' || waiting === 'response_body')
      exchange?.bodyRejected?.then((reply) => rejectBody(reply, waiting))
  }

  const take = async (message: ProcessingRequest): Promise<void> => {
    try {
      await step(message)
    } catch (error) {
      log.error({ err: error }, 'exchange failed')
      fail('the exchange failed')
    }
    busy = false
  }

  /** A body that comes and goes in pieces: the flow gets all replies. */
  const upload = ({ head, endOfStream }: Extract<ProcessingRequest, { readonly head: Head }>): void => {
    const started = createFlow(call)
    input = started
    ended = endOfStream
    exchange = start()
    exchange.onStreamedRequest(head, endOfStream, started.flow).catch((error) => {
      log.error({ err: error }, 'exchange failed')
      fail('the exchange failed')
    })
  }

  const takePiece = (message: ProcessingRequest, to: FlowInput): void => {
    if (ended) fail('a message behind the end of a body')
    else if (message.kind === 'request_body') {
      ended = message.endOfStream
      to.take(message.body, message.endOfStream)
    } else if (message.kind === 'request_trailers') {
      ended = true
      to.takeTrailers()
    } else fail('an unexpected message in a body')
  }

  const read = (bytes: Buffer): ProcessingRequest | undefined => {
    try {
      return decodeRequest(bytes)
    } catch {
      fail('a message does not decode')
      return undefined
    }
  }

  return {
    message(bytes) {
      if (over) return
      if (busy) return fail('a message came before the answer to the last one')
      const message = read(bytes)
      if (message === undefined) return
      if (input !== undefined) takePiece(message, input)
      else if (message.kind === 'request_headers' && message.streamed && exchange === undefined)
        upload(message)
      else {
        busy = true
        void take(message)
      }
    },
    drained() {
      input?.drained()
    },
    end() {
      if (over) return
      if (input === undefined ? phase !== 'done' || busy : !input.isDone())
        return fail('the stream ended before its last answer')
      close()
      call.end()
    },
    gone: close,
  }
}
