/**
 * Carries one request through the messages of ext_proc: which list of steps (kinds.ts) a message is for, and what waits
 * for the next one. Knows HTTP, nothing of gRPC; stream.ts carries its replies to Envoy.
 */
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { ATTRIBUTES, FORWARD_CHAINS } from '../ext-proc/contract.ts'
import { ConnectRequest } from './connect-exchange.ts'
import {
  createGatewayState,
  type ExchangeDeps,
  type ExchangeOptions,
  type GatewayState,
} from './exchange-deps.ts'
import type { Origin } from './forward/tunnel.ts'
import { type Head, isFlagSet } from './headers.ts'
import {
  acceptPieces,
  acceptProxied,
  acceptTunneled,
  acceptUpload,
  acceptWebSocket,
  continuePieces,
  dryRun,
  forwarded,
  guarded,
} from './kinds.ts'
import { guardOf } from './phases.ts'
import { ownerOf, type Received, type Resolved } from './request.ts'
import { RequestContext } from './request-context.ts'
import { collectResponse } from './steps/collect-response.ts'
import { dialedUpstream } from './steps/dial.ts'
import { modeOverrideOf } from './steps/forward.ts'
import { awaitBody } from './steps/receive.ts'
import { streamBody, streamNoBody } from './steps/stream-body.ts'
import { type CompleteResponse, transformResponse } from './steps/transform-response.ts'
import { collectPieces, resumed } from './streaming/collect-pieces.ts'
import type { BodyStream, Exchange, ExtProcReply, ResponseFlow } from './types.ts'

/** `origin`: of a request that came to the forward proxy. */
export type StartExchange = (origin?: Origin) => Exchange

/** Starts an exchange for each request. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): StartExchange => {
  const gateway = createGatewayState(deps, options)
  return (origin) => {
    const chain = origin?.attributes.get(ATTRIBUTES.chain)
    if (origin === undefined || chain === FORWARD_CHAINS.requests) return new ProxiedRequest(gateway, origin)
    if (chain === FORWARD_CHAINS.connect) return new ConnectRequest(gateway)
    throw new Error('a request came from an unknown listener')
  }
}

const NO_BODY = Buffer.alloc(0)

/** The message that an exchange waits for, with what it needs then. */
type Waiting =
  | { readonly kind: 'request_body'; readonly request: Resolved }
  | { readonly kind: 'response_headers'; readonly request: Resolved }
  | ({ readonly kind: 'response_body' } & Omit<CompleteResponse, 'bytes'>)

const unexpected = (): never => {
  throw new Error('a message came that was not asked for')
}

class ProxiedRequest implements Exchange {
  readonly #gateway: GatewayState
  readonly #origin: Origin | undefined
  #context: RequestContext | undefined
  #waiting: Waiting | undefined
  /** The request whose response comes in pieces, or is checked. */
  #guarded: Resolved | undefined

  constructor(gateway: GatewayState, origin: Origin | undefined) {
    this.#gateway = gateway
    this.#origin = origin
  }

  onRequestHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply> {
    const context = this.#begin(head)
    const origin = this.#origin
    const { stepMs, codeStepMs } = this.#gateway.options
    // A WebSocket's frames are not sent here.
    const hasBody = !endOfStream && origin?.isBodyUnread !== true
    const inTunnel = origin?.isBodyUnread ? acceptWebSocket : acceptTunneled
    const acceptHeaders = origin === undefined ? acceptProxied : inTunnel
    // Without a body a transform runs now.
    return context.run(endOfStream ? codeStepMs : stepMs, 0, () =>
      whenReady(acceptHeaders({ head, hasBody }, context), (request) => {
        if (isFlagSet(head, this.#gateway.prefixes, 'stream'))
          throw new Error('a streamed body came in the buffered mode')
        this.#guarded = request
        if (!hasBody) return this.#release({ ...request, bytes: NO_BODY, isHeadSent: false }, context)
        this.#waiting = { kind: 'request_body', request }
        return awaitBody(request, context)
      }),
    )
  }

  onRequestBody(bytes: Buffer): Eventual<ExtProcReply> {
    const { context, waiting } = this.#next()
    if (waiting?.kind !== 'request_body') return context.run(0, 0, unexpected)
    const { request } = waiting
    const { stepMs, codeStepMs } = this.#gateway.options
    return context.run(
      request.shape === undefined ? stepMs : codeStepMs,
      bytes.length,
      () => this.#release({ ...request, bytes, isHeadSent: true }, context),
      ownerOf(request.caller),
    )
  }

  onResponseHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply> {
    const { context, waiting } = this.#next()
    if (waiting?.kind !== 'response_headers') return context.run(0, 0, unexpected)
    const { request } = waiting
    return context.run(
      this.#gateway.options.stepMs,
      0,
      () => {
        const { reply, collected } = collectResponse({ request, head, hasBody: !endOfStream }, context)
        if (collected !== undefined) this.#waiting = { kind: 'response_body', request, collected }
        return reply
      },
      ownerOf(request.caller),
    )
  }

  onResponseBody(bytes: Buffer): Eventual<ExtProcReply> {
    const { context, waiting } = this.#next()
    if (waiting?.kind !== 'response_body') return context.run(0, 0, unexpected)
    return context.run(
      this.#gateway.options.codeStepMs,
      bytes.length,
      () => transformResponse({ ...waiting, bytes }, context),
      ownerOf(waiting.request.caller),
    )
  }

  async onStreamedRequest(head: Head, endOfStream: boolean, flow: BodyStream): Promise<void> {
    const context = this.#begin(head)
    try {
      if (this.#origin === undefined) await this.#upload(head, endOfStream, flow, context)
      else await this.#pieces(head, flow, context)
    } catch (thrown) {
      if (!context.isClosed) await flow.write(await context.reject(thrown)).catch(() => {})
    }
  }

  async onStreamedResponse(head: Head, endOfStream: boolean, flow: ResponseFlow): Promise<void> {
    const context = this.#context ?? unexpected()
    const request = this.#guarded ?? unexpected()
    let isHeadSent = false
    const tracked: ResponseFlow = {
      ...flow,
      head: (edits) => {
        isHeadSent = true
        return flow.head(edits)
      },
    }
    try {
      const hasBody = !endOfStream && modeOverrideOf(request, context) === 'guardedResponse'
      await guarded({ request, head, hasBody, flow: tracked }, context)
    } catch (thrown) {
      if (context.isClosed) return
      if (!isHeadSent) return flow.immediate(await context.reject(thrown))
      context.telemetry.brokenOff(AppError.from(thrown))
      flow.abort()
    }
  }

  unseen(): void {
    const { metrics, log } = this.#gateway.deps
    metrics.guard.unseen.inc()
    log.error({ trace_id: this.#context?.traceId }, 'a response passed unguarded: Envoy ignored the override')
  }

  get bodyRejected(): Promise<ExtProcReply> | undefined {
    const context = this.#context
    return context?.memory.rejected?.then((thrown) => context.reject(thrown))
  }

  cancel(): void {
    this.#context?.close()
  }

  #begin(head: Head): RequestContext {
    this.#context = new RequestContext(this.#gateway, { head, origin: this.#origin })
    return this.#context
  }

  #next(): { readonly context: RequestContext; readonly waiting: Waiting | undefined } {
    const waiting = this.#waiting
    const context = this.#context ?? unexpected()
    this.#waiting = undefined
    return { context, waiting }
  }

  #release(request: Received, context: RequestContext): Eventual<ExtProcReply> {
    const list = request.dryRun ? dryRun : forwarded
    return whenReady(list(request, context), (reply) => {
      if (reply.kind === 'continue' && reply.modeOverride !== undefined && guardOf(reply) === undefined)
        this.#waiting = { kind: 'response_headers', request }
      return reply
    })
  }

  /** The work of a step for the headers of a request whose body comes in pieces. */
  #within<T>(context: RequestContext, work: () => Eventual<T>): Promise<T> {
    const { deps, options } = this.#gateway
    return context.timeout.within(options.stepMs, (async () => deps.admission.run(0, work))())
  }

  async #upload(head: Head, endOfStream: boolean, flow: BodyStream, context: RequestContext): Promise<void> {
    const arrived = { head, hasBody: !endOfStream }
    const request = await this.#within(context, () => acceptUpload(arrived, context))
    this.#guarded = request
    if (endOfStream) await streamNoBody(request, context, flow)
    else await this.#stream(request, flow, context)
  }

  #stream(request: Resolved, flow: BodyStream, context: RequestContext): Eventual<void> {
    const { uploads } = this.#gateway.deps
    if (context.disclosures !== undefined) context.disclosures.mayGrow = true
    return uploads.run(0, () => streamBody(request, context, flow), ownerOf(request.caller))
  }

  async #pieces(head: Head, flow: BodyStream, context: RequestContext): Promise<void> {
    const { bodyLimit, options } = this.#gateway
    const request = await this.#within(context, () => acceptPieces({ head, hasBody: true }, context))
    this.#guarded = request
    const limits = { limit: bodyLimit, ms: options.upload.ms }
    const part = await collectPieces(flow, limits, (bytes) => context.memory.resize(bytes))
    if (!part.isLast)
      return this.#stream(await continuePieces(request, context), resumed(flow, part), context)
    const { bytes } = part
    const dialed = await dialedUpstream(request, context)
    const reply = await context.run(
      options.codeStepMs,
      bytes.length,
      () => this.#release({ ...request, bytes, isHeadSent: false, dialed }, context),
      ownerOf(request.caller),
    )
    if (reply.kind !== 'continue') return flow.write(reply)
    // Envoy sends a body that comes in pieces without a length.
    const { body = bytes, ...released } = reply
    await flow.write(released)
    await flow.end(body)
  }
}
