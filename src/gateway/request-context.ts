import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { createStepTimeout } from '../common/with-timeout.ts'
import type { CheckedCall, Held } from '../sdk/index.ts'
import { CallTrace } from './call-trace.ts'
import type { GatewayState } from './exchange-deps.ts'
import type { Origin } from './forward/tunnel.ts'
import type { Disclosures } from './guard/disclosures.ts'
import { type Head, prefixOf, storedMethod, traceHeaderOf } from './headers.ts'
import { HeldMemory } from './held-memory.ts'
import { proxyError } from './replies.ts'
import { RequestTelemetry } from './request-record.ts'
import type { Timed } from './timings.ts'
import type { CallMark, ExtProcReply } from './types.ts'

const slow = () =>
  new AppError('gateway_timeout', 'A component did not respond in time. Nothing more was forwarded. Retry.')

type Rejection = Extract<ExtProcReply, { readonly kind: 'immediateResponse' }>

interface ContextOptions {
  readonly head: Head
  /** Absent: it came to the edge. */
  readonly origin?: Origin | undefined
  readonly operation?: 'proxy' | 'connect'
}

/**
 * One request beside what its steps hand on: its settings, its telemetry, and what it holds until its one end
 * (`close`).
 */
export class RequestContext {
  readonly gateway: GatewayState
  readonly origin: Origin | undefined
  readonly trace: CallTrace
  readonly telemetry: RequestTelemetry
  readonly memory: HeldMemory
  readonly timeout = createStepTimeout(slow)
  readonly timed: Timed
  /** Values that the response is searched for. Undefined: it is not. */
  disclosures: Disclosures | undefined
  /** The call as the checks of its request saw it. Undefined: there are none. */
  checked: CheckedCall | undefined
  /** Prefix of the headers of its replies. */
  readonly prefix: string
  readonly traceHeader: string
  #values: Held[] = []
  #isClosed = false
  /** Its id among the open calls, once Envoy has it. */
  #callId: string | undefined

  constructor(gateway: GatewayState, { head, origin, operation = 'proxy' }: ContextOptions) {
    const { deps, prefixes } = gateway
    // The caller of the forward proxy writes to the destination: no header of the service is read.
    const isEdge = origin === undefined && operation === 'proxy'
    this.gateway = gateway
    this.origin = origin
    this.prefix = isEdge ? prefixOf(head, prefixes) : prefixes.prefixes[0]
    this.traceHeader = traceHeaderOf(prefixes, this.prefix)
    this.trace = new CallTrace(head, isEdge ? this.traceHeader : undefined, operation)
    this.telemetry = new RequestTelemetry(deps, this.trace, storedMethod(head), operation)
    this.memory = new HeldMemory(deps.held, gateway.bodyLimit)
    this.timed = gateway.timer(this.telemetry.stages, this.trace.span)
  }

  get traceId(): string {
    return this.trace.id
  }

  /** The caller is gone, or has its response. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * What Envoy puts into its log of the call, so that this process learns how it ends. Once, with its first reply;
   * undefined: its caller is not known, or the stream is closed.
   */
  expectEnd(): CallMark | undefined {
    if (this.#isClosed) return undefined
    const expected = this.gateway.deps.calls.expect(this.telemetry)
    this.#callId = expected?.id
    return expected?.mark
  }

  /** Work for one message of Envoy, within `ms` and the bounds of the process; an error becomes the reply. */
  run(
    ms: number,
    bytes: number,
    work: () => Eventual<ExtProcReply>,
    ...owner: readonly string[]
  ): Eventual<ExtProcReply> {
    const reject = (thrown: unknown) => this.reject(thrown)
    try {
      const running = this.gateway.deps.admission.run(bytes, work, ...owner)
      return running instanceof Promise ? this.timeout.within(ms, running).catch(reject) : running
    } catch (thrown) {
      return reject(thrown)
    }
  }

  /** The reply to a request that failed, which is its end. */
  reject(thrown: unknown): Eventual<Rejection> {
    const error = AppError.from(thrown)
    const { telemetry, prefix, gateway } = this
    return whenReady(telemetry.rejected(error), () => ({
      kind: 'immediateResponse',
      prefix,
      reply: proxyError(error, gateway.prefixes, prefix, telemetry),
    }))
  }

  /** Keeps memory of the tenants' shared budget for opened values. */
  hold(held: Held): void {
    this.#values.push(held)
  }

  /** The values are in the request, or are not needed any more. */
  releaseValues(): void {
    for (const held of this.#values) held.release()
    this.#values = []
  }

  /**
   * The one end of every request: its memory, values, timer and spans are released; and its share, but for a guarded
   * call that Envoy still carries. Idempotent.
   */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.timeout.cancel()
    this.releaseValues()
    if (this.#callId === undefined) {
      this.memory.release()
      this.telemetry.lost()
    } else this.gateway.deps.calls.closed(this.#callId, this.memory.outlive())
  }
}
