/**
 * One proxied request, from its headers to its release, and on to its response when a transform waits for that
 * (interface, "Ephemeral proxy", "Pre-configured proxies"; completions §7). Knows HTTP, nothing of gRPC; stream.ts
 * carries its replies to Envoy.
 */
import type { Eventual } from '../common/eventual.ts'
import { ATTRIBUTES, FORWARD_CHAINS } from '../ext-proc/contract.ts'
import {
  createGatewayState,
  type ExchangeDeps,
  type ExchangeOptions,
  type GatewayState,
} from './exchange-deps.ts'
import { ConnectRequest } from './forward/connect.ts'
import { forwardTunneled } from './forward/stream-tunneled.ts'
import type { Origin } from './forward/tunnel.ts'
import type { Head } from './headers.ts'
import { acceptRequestBody, acceptRequestHeaders } from './request-phases.ts'
import { RequestState } from './request-state.ts'
import { acceptResponseBody, acceptResponseHeaders } from './response-phases.ts'
import { forwardStream } from './streaming/streamed-request.ts'
import type { BodyStream, Exchange, ExtProcReply } from './types.ts'

/** `origin`: of a request that came to the forward proxy. */
export type StartExchange = (origin?: Origin) => Exchange

/** Starts an exchange for each request. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): StartExchange => {
  const shared = createGatewayState(deps, options)
  return (origin) => {
    const chain = origin?.attributes.get(ATTRIBUTES.chain)
    if (origin === undefined || chain === FORWARD_CHAINS.requests) return new ProxiedRequest(shared, origin)
    if (chain === FORWARD_CHAINS.connect) return new ConnectRequest(shared)
    throw new Error('a request came from an unknown listener')
  }
}

class ProxiedRequest implements Exchange {
  readonly #state: RequestState

  constructor(shared: GatewayState, origin?: Origin) {
    this.#state = new RequestState(shared, origin === undefined ? {} : { origin })
  }

  onRequestHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply> {
    const state = this.#state
    const { stepMs, codeStepMs } = state.shared.options
    state.readPrefix(head)
    // Without a body a transform runs now.
    const ms = endOfStream ? codeStepMs : stepMs
    // A WebSocket's frames are not sent here.
    const isComplete = endOfStream || state.origin?.isBodyUnread === true
    return state.step(ms, 0, () => acceptRequestHeaders(state, head, isComplete))
  }

  onRequestBody(bytes: Buffer): Eventual<ExtProcReply> {
    const state = this.#state
    const { stepMs, codeStepMs } = state.shared.options
    const ms = state.accepted?.shape === undefined ? stepMs : codeStepMs
    return state.step(ms, bytes.length, () => acceptRequestBody(state, bytes))
  }

  onResponseHeaders(head: Head, endOfStream: boolean): Eventual<ExtProcReply> {
    const state = this.#state
    const { stepMs } = state.shared.options
    return state.step(stepMs, 0, () => acceptResponseHeaders(state, head, endOfStream))
  }

  onResponseBody(bytes: Buffer): Eventual<ExtProcReply> {
    const state = this.#state
    const { codeStepMs } = state.shared.options
    return state.step(codeStepMs, bytes.length, () => acceptResponseBody(state, bytes))
  }

  async onStreamedRequest(head: Head, endOfStream: boolean, flow: BodyStream): Promise<void> {
    const state = this.#state
    state.readPrefix(head)
    try {
      if (state.origin === undefined) await forwardStream(state, head, endOfStream, flow)
      else await forwardTunneled(state, head, flow)
      state.record.finish('forwarded')
    } catch (thrown) {
      if (state.isCanceled) state.record.finish('interrupted')
      else await flow.write(await state.replyTo(thrown)).catch(() => {})
    }
  }

  get bodyRejected(): Promise<ExtProcReply> | undefined {
    return this.#state.memory.rejected?.then((thrown) => this.#state.replyTo(thrown))
  }

  cancel(): void {
    const state = this.#state
    state.isCanceled = true
    state.memory.release()
    state.stepTimeout.cancel()
    // The request went out, and its response has no reader.
    if (state.isResponseWanted) state.record.finish('forwarded')
  }
}
