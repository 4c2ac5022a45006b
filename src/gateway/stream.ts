/**
 * One ext_proc stream: reads Envoy's messages, lets an exchange decide, writes its replies. Knows Envoy's message
 * forms, nothing of proxies.
 *
 * A stream that ends with status OK before its last reply would let Envoy send the request, or the destination's
 * response, unchanged. So this side never ends a stream first: Envoy does, or this side resets it, which fails the
 * request.
 */
import type { Eventual } from '../common/eventual.ts'
import type { Log } from '../common/log.ts'
import type { Call, CallHandler } from '../ext-proc/call.ts'
import { decodeRequest, type ProcessingRequest } from './decode-request.ts'
import { encodeReply, type Phase } from './encode-reply.ts'
import type { StartExchange } from './exchange.ts'
import type { Head } from './headers.ts'
import { guardOf, phaseAfter } from './phases.ts'
import { type BodyCall, type BodyStreamInput, createBodyStream, shareCall } from './streaming/body-buffer.ts'
import { createResponseFlow, type ResponseInput } from './streaming/response-flow.ts'
import type { Exchange, ExtProcReply } from './types.ts'

const decoded = (bytes: Buffer): ProcessingRequest | undefined => {
  try {
    return decodeRequest(bytes)
  } catch {
    return undefined
  }
}

/** Inside a tunnel a request may be in the streamed mode, and have no body. */
const isUpload = (
  message: ProcessingRequest,
): message is Extract<ProcessingRequest, { readonly streamed: boolean }> =>
  message.kind === 'request_headers' &&
  message.streamed &&
  !(message.endOfStream && message.origin !== undefined)

class ExtProcStream implements CallHandler {
  readonly #call: Call
  readonly #start: StartExchange
  readonly #log: Log
  #phase: Phase | 'done' = 'request_headers'
  #busy = false
  #over = false
  #exchange: Exchange | undefined
  #input: BodyStreamInput | undefined
  /** The guarded response that was asked for. */
  #response: ResponseInput | undefined
  /** Envoy streams the body of the request, if it has one. */
  #isUpload = false
  /** The call for one of the bodies on it. */
  readonly #sharedCall: () => BodyCall
  /** The last piece of a streamed body, or its trailers, have arrived. */
  #ended = false

  constructor(call: Call, start: StartExchange, log: Log) {
    this.#call = call
    this.#start = start
    this.#log = log
    this.#sharedCall = shareCall(call, (reply, phase) => this.#send(reply, phase))
  }

  message(bytes: Buffer): void {
    if (this.#over) return
    const message = decoded(bytes)
    if (message === undefined) this.#fail('a message does not decode')
    else if (this.#response !== undefined && message.kind.startsWith('response_'))
      this.#onGuarded(message, this.#response)
    else if (this.#busy) this.#fail('a message came before the reply to the last one')
    else if (message.kind === 'response_trailers') this.#onResponseTrailers()
    else if (this.#input !== undefined) this.#onBodyPiece(message, this.#input)
    else if (isUpload(message) && this.#exchange === undefined) this.#upload(message)
    else this.#onMessage(message)
  }

  drained(): void {
    this.#input?.drained()
    this.#response?.drained()
  }

  end(): void {
    if (this.#over) return
    const response = this.#response
    const isDone = this.#input === undefined ? this.#phase === 'done' && !this.#busy : this.#input.isDone()
    if (isDone && response?.isSeen() === false) this.#exchange?.unseen()
    if (isDone && (response === undefined || response.isDone() || !response.isSeen())) {
      this.gone()
      this.#call.end()
    } else this.#fail('the stream ended before its last reply')
  }

  gone(): void {
    this.#over = true
    this.#exchange?.cancel()
    this.#input?.giveUp()
    this.#response?.giveUp()
    this.#exchange = undefined
  }

  #fail(why: string): void {
    if (this.#over) return
    this.#log.warn({ why }, 'ext_proc stream reset')
    this.gone()
    this.#call.reset()
  }

  #crash(error: unknown): void {
    this.#log.error({ err: error }, 'exchange failed')
    this.#fail('the exchange failed')
  }

  #onMessage(message: ProcessingRequest): void {
    this.#busy = true
    try {
      const deciding = this.#decide(message)
      if (deciding === undefined || this.#phase === 'done')
        this.#fail(`unexpected message in phase "${this.#phase}"`)
      else if (deciding instanceof Promise) return void this.#replyLater(deciding)
      else this.#reply(deciding)
    } catch (error) {
      this.#crash(error)
    }
    this.#busy = false
  }

  #decide(message: ProcessingRequest): Eventual<ExtProcReply> | undefined {
    if (message.kind !== this.#phase) return undefined
    if (message.kind === 'request_headers') {
      this.#isUpload = message.streamed
      this.#exchange = this.#start(message.origin)
      return this.#exchange.onRequestHeaders(message.head, message.endOfStream)
    }
    const exchange = this.#exchange
    if (message.kind === 'request_body') return exchange?.onRequestBody(message.body)
    if (message.kind === 'response_headers')
      return exchange?.onResponseHeaders(message.head, message.endOfStream)
    return message.kind === 'response_body' ? exchange?.onResponseBody(message.body) : undefined
  }

  async #replyLater(deciding: Promise<ExtProcReply>): Promise<void> {
    try {
      this.#reply(await deciding)
    } catch (error) {
      this.#crash(error)
    }
    this.#busy = false
  }

  #reply(reply: ExtProcReply): void {
    if (this.#over) return
    const replied = this.#phase as Phase
    this.#phase = phaseAfter(reply, replied)
    this.#send(reply, replied)
    const waiting = this.#phase
    if (waiting === 'request_body' || waiting === 'response_body')
      this.#exchange?.bodyRejected?.then((instead) => this.#rejectBody(instead, waiting))
  }

  /** Sends the reply instead of waiting for the body that `waiting` is the phase of, unless the body has come. */
  #rejectBody(reply: ExtProcReply, waiting: Phase): void {
    if (this.#over || this.#busy || this.#phase !== waiting) return
    this.#send(reply, waiting)
    this.#phase = 'done'
  }

  /** Behind the released request's response. One without a body has nothing to transform. */
  #onResponseTrailers(): void {
    if (this.#input === undefined) {
      if (this.#phase !== 'done' && this.#phase !== 'response_body') {
        this.#fail(`unexpected message in phase "${this.#phase}"`)
        return
      }
      this.#phase = 'done'
    }
    this.#send({ kind: 'trailers' }, 'response_body')
  }

  #send(reply: ExtProcReply, phase: Phase): boolean {
    const guard = phase === 'request_headers' ? guardOf(reply) : undefined
    // A response of our own does not come back here.
    if (reply.kind === 'immediateResponse' && this.#response?.isSeen() === false) this.#response = undefined
    else if (guard !== undefined)
      this.#response = createResponseFlow(this.#sharedCall(), guard, () =>
        this.#fail('a response was broken off'),
      )
    return this.#call.send(...encodeReply(reply, phase, this.#isUpload))
  }

  #onGuarded(message: ProcessingRequest, response: ResponseInput): void {
    let isExpected = false
    if (message.kind === 'response_headers') {
      isExpected = response.begin(message.endOfStream)
      // Envoy itself responded: the body will not come.
      if (this.#phase === 'request_body' && !this.#busy) this.#phase = 'done'
      if (isExpected) this.#respond(message.head, message.endOfStream, response)
    } else if (message.kind === 'response_body') isExpected = response.push(message.body, message.endOfStream)
    else if (message.kind === 'response_trailers') isExpected = response.pushTrailers(message.head)
    if (!isExpected) this.#fail('an unexpected message in a response')
  }

  async #respond(head: Head, endOfStream: boolean, response: ResponseInput): Promise<void> {
    try {
      await this.#exchange?.onStreamedResponse(head, endOfStream, response.flow)
      if (!response.isDone()) throw new Error('a response was not ended')
    } catch (error) {
      if (!this.#over) this.#crash(error)
    }
  }

  /** A body that comes and goes in pieces: the flow gets all replies. */
  #upload({ head, endOfStream, origin }: Extract<ProcessingRequest, { readonly streamed: boolean }>): void {
    const started = createBodyStream(this.#sharedCall())
    this.#isUpload = true
    this.#input = started
    this.#ended = endOfStream
    this.#exchange = this.#start(origin)
    this.#exchange.onStreamedRequest(head, endOfStream, started.flow).catch((error) => this.#crash(error))
  }

  #onBodyPiece(message: ProcessingRequest, to: BodyStreamInput): void {
    if (this.#ended) this.#fail('a message after the end of a body')
    else if (message.kind === 'request_body') {
      this.#ended = message.endOfStream
      to.push(message.body, message.endOfStream)
    } else if (message.kind === 'request_trailers') {
      this.#ended = true
      to.pushTrailers()
    } else this.#fail('an unexpected message in a body')
  }
}

/** Serves one call to its end; `start` makes the exchange when headers come. */
export const serveStream = (call: Call, start: StartExchange, log: Log): CallHandler =>
  new ExtProcStream(call, start, log)
