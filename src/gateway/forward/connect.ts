/** CONNECT on the forward proxy: who opens a tunnel, where to, and whether we open it (completions §15). */
import { AppError } from '../../common/errors.ts'
import { CLIENT_ADDRESS_HEADER } from '../../common/rate-limiter.ts'
import { traceIdFor } from '../../common/trace-id.ts'
import { TUNNEL_BYTES } from '../../control-plane/limits.ts'
import type { Destination } from '../../egress/parse-url.ts'
import type { Caller } from '../../sdk/index.ts'
import type { GatewayState } from '../exchange-deps.ts'
import { type Head, single } from '../headers.ts'
import { authorizeProxy, ownerOf } from '../identify.ts'
import { RequestState } from '../request-state.ts'
import type { Exchange, ExtProcReply } from '../types.ts'
import { asProxyAuthentication, proxyCredentials } from './credentials.ts'
import { encodeTunnel } from './tunnel.ts'

const AUTHORITY = /^[^/?#@\\%]+$/

const denied = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `The host "${host}" is not bound for this application. Bind it with "intercept" of a stored proxy, or with "destinations".`,
  )

const unexpected = (): never => {
  throw new Error('a CONNECT has its headers only')
}

export class ConnectRequest implements Exchange {
  readonly #state: RequestState
  readonly bodyRejected = undefined
  onRequestBody = unexpected
  onResponseHeaders = unexpected
  onResponseBody = unexpected
  onStreamedRequest = unexpected

  constructor(shared: GatewayState) {
    this.#state = new RequestState(shared, { operation: 'connect' })
  }

  onRequestHeaders(head: Head): Promise<ExtProcReply> {
    const state = this.#state
    // Not the caller's: no other tunnel may have this one.
    state.record.traceId = traceIdFor(undefined)
    state.record.method = 'CONNECT'
    return Promise.resolve(state.step(state.shared.options.stepMs, 0, () => this.#accept(head)))
  }

  cancel(): void {
    this.#state.isCanceled = true
    this.#state.memory.release()
    this.#state.stepTimeout.cancel()
  }

  /** Where to, in the form that everything inside is compared with. Throws as the parser of URLs does. */
  #destination(head: Head): Destination {
    const authority = single(head, ':authority') ?? ''
    if (!AUTHORITY.test(authority))
      throw new AppError('malformed', 'The target of CONNECT is not a host and a port. Send "host:port".')
    return this.#state.shared.destinations.parse(`https://${authority}`)
  }

  async #caller(key: string, address: string | undefined): Promise<Caller> {
    const { record, shared } = this.#state
    await shared.deps.admit({ key, address })
    try {
      const caller = await shared.deps.authenticator.authenticate(key)
      record.identity = { caller, proxy: undefined, dryRun: false }
      authorizeProxy(caller)
      return caller
    } catch (thrown) {
      throw asProxyAuthentication(thrown)
    }
  }

  async #accept(head: Head): Promise<ExtProcReply> {
    const state = this.#state
    const { record, prefix, shared } = state
    const { bindings, dial } = shared.deps
    if (bindings === undefined || single(head, ':method') !== 'CONNECT')
      throw new Error('the forward proxy got something else than a CONNECT')
    const key = proxyCredentials(head)
    const address = single(head, CLIENT_ADDRESS_HEADER)
    const caller = await this.#caller(key, address)
    const { host, port } = this.#destination(head)
    record.host = host
    const connect = await bindings.connect(caller, host.replace(/^\[(.*)\]$/, '$1'), port)
    if (connect === 'deny') throw denied(host)
    if (!state.isCanceled) state.memory.take(ownerOf(caller), connect === 'open' ? TUNNEL_BYTES : 0)
    const reply = { kind: 'connect', prefix, traceHeader: state.traceHeader, nonce: record.traceId } as const
    if (connect === 'open') {
      record.finish('opened')
      return { ...reply, tunnel: encodeTunnel({ key, host, port, address }) }
    }
    const dialed = await dial(host, port)
    await record.tunneled()
    record.finish('tunneled')
    return { ...reply, address: dialed }
  }
}
