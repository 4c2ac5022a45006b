/** The state of one proxied request, and the steps that its phases share. */
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { traceIdFor } from '../common/trace-id.ts'
import { createStepTimeout } from '../common/with-timeout.ts'
import { createCodeScope } from '../egress/code-scope.ts'
import { BODY_ONLY } from '../egress/surfaces.ts'
import type { CodeScope, StoredProxy, UseContext } from '../sdk/index.ts'
import { runDryRun } from './dry-run/run.ts'
import type { GatewayState } from './exchange-deps.ts'
import { resolveTunneled } from './forward/resolve-tunneled.ts'
import type { Origin } from './forward/tunnel.ts'
import { type Edits, type Head, prefixOf, storedMethod, traceHeaderOf, traceIdOf } from './headers.ts'
import { HeldMemory } from './held-memory.ts'
import { type CallHead, identify, ownerOf } from './identify.ts'
import { dryRunReply, proxyError } from './replies.ts'
import { RequestTelemetry } from './request-record.ts'
import { outboundOf, type RequestResolver, type ResolvedRequest, resolveRequest } from './resolve-request.ts'
import type { Stages, Timed } from './timings.ts'
import type { Shape } from './transform/content.ts'
import type { CollectedResponse } from './transform/response.ts'
import { runTransform, type Transformed, type TransformRun } from './transform/run.ts'
import type { ExtProcReply, ModeOverride } from './types.ts'

/** A request whose headers were accepted. */
export interface Accepted {
  readonly resolved: ResolvedRequest
  /** When the caller was identified. */
  readonly since: number
  readonly head: Head
  readonly stripped: readonly string[]
  /** Undefined: no request transform applies. */
  readonly shape: Shape | undefined
}

const bodyOnly = () => BODY_ONLY

const SLOW = 'A component did not respond in time. Nothing more was forwarded. Retry.'
const slow = () => new AppError('gateway_timeout', SLOW)

export class RequestState {
  readonly shared: GatewayState
  readonly origin: Origin | undefined
  readonly record: RequestTelemetry
  readonly memory: HeldMemory
  readonly stepTimeout = createStepTimeout(slow)
  readonly stages: Stages
  readonly timed: Timed
  prefix: string
  traceHeader: string
  accepted: Accepted | undefined
  /** Scope of the request transform; set once it gets the values of the body. */
  scope: CodeScope | undefined
  /** The response that a transform needs complete. */
  response: CollectedResponse | undefined
  destinationStatus: string | undefined
  isResponseWanted = false
  isCanceled = false

  /** `origin`: of a request inside a tunnel. */
  constructor(
    shared: GatewayState,
    { operation, origin }: { readonly operation?: 'connect'; readonly origin?: Origin } = {},
  ) {
    this.shared = shared
    this.origin = origin
    this.record = new RequestTelemetry(shared.deps, operation)
    this.memory = new HeldMemory(shared.deps.held, shared.bodyLimit)
    this.stages = this.record.stages
    this.timed = shared.timer(this.stages)
    this.prefix = shared.prefixes.prefixes[0]
    this.traceHeader = traceHeaderOf(shared.prefixes, this.prefix)
  }

  readPrefix(head: Head): void {
    this.record.method = storedMethod(head)
    const { prefixes } = this.shared
    if (this.origin !== undefined) {
      this.record.traceId = traceIdFor(undefined)
      return
    }
    this.prefix = prefixOf(head, prefixes)
    this.traceHeader = traceHeaderOf(prefixes, this.prefix)
    this.record.traceId = traceIdOf(head, this.traceHeader)
  }

  /** Bounded work for one message; an error becomes the reply. */
  step(ms: number, bytes: number, work: () => Eventual<ExtProcReply>): Eventual<ExtProcReply> {
    const { admission } = this.shared.deps
    const fail = (thrown: unknown) => this.replyTo(thrown)
    try {
      const running =
        this.accepted === undefined
          ? admission.run(bytes, work)
          : admission.run(bytes, work, ownerOf(this.accepted.resolved.caller))
      return running instanceof Promise ? this.stepTimeout.within(ms, running).catch(fail) : running
    } catch (thrown) {
      return fail(thrown)
    }
  }

  resolve(head: Head, resolver: RequestResolver): Eventual<ResolvedRequest> {
    const { deps, prefixes } = this.shared
    const identifying = (request: CallHead) =>
      this.timed('authenticate', () =>
        identify(deps, prefixes, request, (identity) => {
          this.record.identity = identity
        }),
      )
    return this.origin === undefined
      ? resolveRequest(head, this.prefix, resolver, identifying)
      : resolveTunneled(head, this.origin, resolver, identifying)
  }

  /** Throws `rate_limited` when the tenant has its share of calls, of bytes that they hold, or of hosts. */
  takeShare({ caller, destination }: ResolvedRequest, length: number | undefined): void {
    const { upstream, host, port } = destination
    this.record.host = host
    if (this.isCanceled) return
    const owner = ownerOf(caller)
    this.memory.take(owner, length)
    if (upstream !== 'demo') this.shared.deps.hosts.use(owner, `${host}:${port}`)
  }

  /** Where values of the request go; a request transform gets them first. */
  useOf(
    resolved: ResolvedRequest,
  ): Pick<UseContext, 'destination' | 'surfacesOf' | 'code' | 'decisions' | 'isAnonymous'> {
    const destination = outboundOf(resolved)
    if (resolved.proxy?.requestTransform !== undefined) this.scope = createCodeScope(destination)
    const isAnonymous = resolved.caller.actorType === 'anonymous'
    const { decisions } = this.record
    return { destination, surfacesOf: bodyOnly, code: this.scope, decisions, isAnonymous }
  }

  runSettings(resolved: ResolvedRequest): Omit<TransformRun, 'code' | 'proxy'> {
    return {
      destination: outboundOf(resolved),
      prefixes: this.shared.prefixes,
      exposeErrorMessages: this.record.identity?.caller.actorType !== 'anonymous',
      traceId: this.record.traceId,
      signal: this.stepTimeout.signal(),
      limits: this.shared.options.body,
    }
  }

  runOf(resolved: ResolvedRequest, proxy: StoredProxy): TransformRun {
    return { ...this.runSettings(resolved), code: this.shared.deps.code, proxy }
  }

  async admitCode<T>(
    body: Buffer,
    run: () => Promise<T>,
    caller: ResolvedRequest['caller'],
    proxy: StoredProxy,
  ): Promise<T> {
    const { codeAdmission } = this.shared.deps
    return this.timed('transform', () => codeAdmission.run(body.length, run, ownerOf(caller), proxy.id))
  }

  transform({ resolved, head, stripped }: Accepted, shape: Shape, body: Buffer): Promise<Transformed> {
    const { proxy, method, suffix, caller } = resolved
    if (proxy === undefined) throw new Error('a transform without a proxy')
    const args = { method, path: suffix.path, query: suffix.query === undefined ? '' : `?${suffix.query}` }
    const message = { head, stripped, shape, body, args }
    const settings = { ...this.runOf(resolved, proxy), scope: this.scope }
    const run = () => runTransform('request_transform', message, settings)
    return this.admitCode(body, run, caller, proxy)
  }

  async dryRun({ resolved, head }: Accepted, body: Buffer): Promise<ExtProcReply> {
    const { deps } = this.shared
    const dryRun = {
      accepted: resolved,
      head,
      body,
      now: deps.clock.now(),
      timed: this.timed,
      stages: this.stages,
      run: this.runSettings(resolved),
    }
    const reply = dryRunReply(await runDryRun(dryRun, deps), this.prefix, this.record.traceId)
    this.record.finish('dry_run')
    return { kind: 'immediateResponse', prefix: this.prefix, reply }
  }

  /** The request with its body as it goes out; without `body` that stays as it came. */
  continueRequest(
    { upstream, cluster }: ResolvedRequest,
    edits: Edits,
    body: Buffer | undefined,
    modeOverride: ModeOverride | undefined,
  ): ExtProcReply {
    if (body !== undefined) this.memory.resize(body.length)
    if (modeOverride !== undefined) this.isResponseWanted = true
    else this.record.finish('forwarded')
    const replaced = body === undefined ? {} : { body }
    return { kind: 'continue', prefix: this.prefix, upstream, cluster, edits, modeOverride, ...replaced }
  }

  /** Headers that the destination gets in the place of the caller's. */
  editsOf({ destination, path }: ResolvedRequest, remove: readonly string[]): Edits {
    return {
      set: new Map([
        [':authority', destination.authority],
        [':path', path],
        [this.traceHeader, this.record.traceId],
      ]),
      remove,
    }
  }

  replyTo(thrown: unknown): Eventual<ExtProcReply> {
    const error = AppError.from(thrown)
    return whenReady(this.record.rejected(error), () => {
      const { prefixes } = this.shared
      const { traceId } = this.record
      const reply = proxyError(error, prefixes, this.prefix, traceId, this.destinationStatus)
      return { kind: 'immediateResponse', prefix: this.prefix, reply }
    })
  }
}
