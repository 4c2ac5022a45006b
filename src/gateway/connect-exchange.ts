import type { Eventual } from '../common/eventual.ts'
import type { GatewayState } from './exchange-deps.ts'
import type { Head } from './headers.ts'
import { connect } from './kinds.ts'
import { RequestContext } from './request-context.ts'
import type { Exchange, ExtProcReply } from './types.ts'

const unexpected = (): never => {
  throw new Error('a CONNECT has its headers only')
}

/** A CONNECT on the forward proxy. The tunnel holds its share until its stream ends. */
export class ConnectRequest implements Exchange {
  readonly #gateway: GatewayState
  #context: RequestContext | undefined
  readonly bodyRejected = undefined
  onRequestBody = unexpected
  onResponseHeaders = unexpected
  onResponseBody = unexpected
  onStreamedRequest = unexpected
  onStreamedResponse = unexpected
  unseen = unexpected

  constructor(gateway: GatewayState) {
    this.#gateway = gateway
  }

  onRequestHeaders(head: Head): Eventual<ExtProcReply> {
    const context = new RequestContext(this.#gateway, { head, operation: 'connect' })
    this.#context = context
    return context.run(this.#gateway.options.stepMs, 0, () => connect({ head, hasBody: false }, context))
  }

  cancel(): void {
    this.#context?.close()
  }
}
