/**
 * One proxied request's life, from its headers to its release, and on to its answer when a transform waits for that
 * (interface, "Ephemeral proxy", "Pre-configured proxies"; completions §7). Knows HTTP, nothing of gRPC; stream.ts
 * carries its answers to Envoy.
 */
import { AppError } from '../common/errors.ts'
import type { Share, Shares } from '../common/shares.ts'
import { CALL_BYTES, PIECES_BYTES } from '../control-plane/limits.ts'
import { createDestinations, type DestinationPolicy } from '../egress/parse-url.ts'
import type { Code, StoredProxy, Vault } from '../sdk/index.ts'
import type { Admission } from './admission.ts'
import { detokenize, detokenizePlain } from './detokenize.ts'
import { type DryRunDeps, runDryRun } from './dry-run/run.ts'
import { effectiveCaller } from './effective-caller.ts'
import {
  type Edits,
  type Head,
  type HeaderRules,
  isFlagSet,
  merged,
  prefixOf,
  single,
  strippedNames,
  traceHeaderOf,
  traceIdOf,
} from './headers.ts'
import { callerStill, identify, ownerOf } from './identify.ts'
import type { RecentHosts } from './recent-hosts.ts'
import { dryRunReply, proxyError } from './replies.ts'
import { createRequestRecord, type RequestRecordDeps } from './request-record.ts'
import { type RequestResolver, type ResolvedRequest, resolveRequest } from './resolve-request.ts'
import { createStepTimeout } from './step-timeout.ts'
import {
  type StreamedRequestDeps,
  type StreamedRequestOptions,
  uploadThrough,
} from './streaming/streamed-request.ts'
import { createTimed, measured, type Stage, type Timed } from './timings.ts'
import { type Shape, shapeOf } from './transform/content.ts'
import {
  type CollectedResponse,
  collectible,
  responseStatus,
  transformResponse,
} from './transform/response.ts'
import { runTransform, type Transformed, type TransformRun, withoutCoding } from './transform/run.ts'
import type { Exchange, ExtProcReply, Watch } from './types.ts'

export interface ExchangeDeps
  extends RequestRecordDeps,
    StreamedRequestDeps,
    Pick<DryRunDeps, 'runIdle'>,
    Pick<RequestResolver, 'clusterOf'> {
  readonly vault: Vault
  /** Bytes of Envoy's memory that calls hold, from their headers to the end of their response. */
  readonly held: Shares
  readonly hosts: RecentHosts
  /** Of transforms; the owners are the tenant and the proxy. */
  readonly codeRoom: Admission
  /** Runs transforms; absent: proxies that have one fail. */
  readonly code?: Pick<Code, 'run'> | undefined
}

export interface ExchangeOptions extends StreamedRequestOptions {
  readonly prefixes: HeaderRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `gateway_timeout`. */
  readonly stepMs: number
  /** The same for a step that runs code, whose own time is bounded by the sandbox. */
  readonly codeStepMs: number
  /** Milliseconds from the headers of a response that a transform needs whole to its end. */
  readonly responseMs: number
  readonly bodyLimit: number
}

/** Makes an exchange; `refuse` is told of a reply in the place of a body that is waited for, and not wanted any more. */
export type StartExchange = (reject: (reply: ExtProcReply) => void) => Exchange

/** What makes an exchange for each request; what they have in common is prepared here. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): StartExchange => {
  const shared: Shared = {
    deps,
    options,
    prefixes: options.prefixes,
    bodyLimit: options.bodyLimit,
    destinations: createDestinations(options.destinations),
    clusterOf: deps.clusterOf,
    timed: createTimed(deps.metrics),
  }
  return (reject) => createExchange(shared, reject)
}

interface Shared extends RequestResolver {
  readonly deps: ExchangeDeps
  readonly options: ExchangeOptions
  readonly timed: Timed
}

/** A request whose headers were accepted. */
interface Held {
  readonly accepted: ResolvedRequest
  /** When it was asked who calls. */
  readonly since: number
  readonly head: Head
  readonly stripped: readonly string[]
  /** Undefined: no request transform applies. */
  readonly shape: Shape | undefined
}

const NO_BODY = Buffer.alloc(0)

/**
 * Envoy stops reading a response that fills its buffer before its headers are answered, unless it collects it from the
 * first byte on: then it is refused at once. Responses that may pass are never refused for their size.
 */
const watchOf = (proxy: StoredProxy | undefined): Watch | undefined => {
  if (proxy?.responseTransform === undefined) return undefined
  return proxy.responseOtherwise === 'pass' ? 'headers' : 'body'
}

/**
 * Bytes that a body of unknown length counts for as it begins, and ms after which it counts for twice as much, up to the
 * limit. Most have few and come at once: counting each for the limit would refuse a hundred small ones.
 */
const UNKNOWN_BYTES = 1024 * 1024
const GROWS_MS = 500

const LATE =
  "The destination's response was not complete in time, and its transform needs it whole. The destination received the request."

const createExchange = (shared: Shared, reject: (reply: ExtProcReply) => void): Exchange => {
  const { deps, options, prefixes } = shared
  const record = createRequestRecord(deps)
  const stepTimeout = createStepTimeout()
  let prefix: string = prefixes.prefixes[0]
  let traceHeader = ''
  let held: Held | undefined
  let share: Share | undefined
  let growing: NodeJS.Timeout | undefined
  let late: NodeJS.Timeout | undefined
  let response: CollectedResponse | undefined
  let destinationStatus: string | undefined
  let watching = false
  let gone = false
  let timed = shared.timed
  const stages: Partial<Record<Stage, number>> = {}

  /** Bounded work for one message; what it rejects with becomes the answer. */
  const step = async (
    ms: number,
    bytes: number,
    work: () => Promise<ExtProcReply>,
  ): Promise<ExtProcReply> => {
    try {
      const owner = held === undefined ? [] : [ownerOf(held.accepted.caller)]
      return await stepTimeout.within(ms, deps.admission.run(bytes, work, ...owner))
    } catch (thrown) {
      return await replyTo(thrown)
    }
  }

  const accept = (head: Head, acceptance: RequestResolver = shared): Promise<ResolvedRequest> =>
    resolveRequest(head, prefix, acceptance, (request) => {
      if (request.dryRun) timed = measured(timed, stages)
      return timed('authenticate', () =>
        identify(deps, prefixes, request, (identity) => {
          record.identity = identity
        }),
      )
    })

  /** Throws `rate_limited` when its tenant has its share of calls, of bytes that they hold, or of hosts. */
  const takeShare = (
    { caller, destination: { upstream, host, port } }: ResolvedRequest,
    bytes: number,
  ): void => {
    if (gone) return
    const owner = ownerOf(caller)
    share = deps.held.take(CALL_BYTES + bytes, owner)
    if (upstream !== 'demo') deps.hosts.use(owner, `${host}:${port}`)
  }
  const holds = (bytes: number): void => share?.resize(CALL_BYTES + bytes)
  const growWhileWaiting = (bytes: number): void => {
    if (bytes >= options.bodyLimit) return
    growing = setTimeout(() => {
      const more = Math.min(2 * bytes, options.bodyLimit)
      try {
        holds(more)
        growWhileWaiting(more)
      } catch (thrown) {
        rejectLate(thrown)
      }
    }, GROWS_MS)
  }
  const stopWaiting = (): void => {
    clearTimeout(growing)
    clearTimeout(late)
  }
  /** Of a body that is waited for. */
  const rejectLate = (thrown: unknown): void => {
    stopWaiting()
    void replyTo(thrown).then(reject)
  }

  const runFor = (): Omit<TransformRun, 'code' | 'proxy'> => ({
    prefixes: prefixes,
    texts: record.identity?.caller.actorType !== 'anonymous',
    traceId: record.traceId,
    signal: stepTimeout.signal(),
    limits: options.body,
  })

  const runOf = (proxy: StoredProxy): TransformRun => {
    if (deps.code === undefined) throw new AppError('gateway_timeout', 'No code runs here. Ask the operator.')
    return { ...runFor(), code: deps.code, proxy }
  }

  const dryRunOf = async ({ accepted, head }: Held, body: Buffer): Promise<ExtProcReply> => {
    const dryRun = { accepted, head, body, now: deps.clock.now(), timed, stages, run: runFor() }
    const reply = dryRunReply(await runDryRun(dryRun, deps), prefix, record.traceId)
    record.finish('dry_run')
    return { kind: 'reply', prefix, reply }
  }

  const transformed = (
    { accepted, head, stripped }: Held,
    shape: Shape,
    body: Buffer,
  ): Promise<Transformed> => {
    const { proxy, method, suffix } = accepted
    if (proxy === undefined) throw new Error('a transform without a proxy')
    const args = { method, path: suffix.path, query: suffix.query === undefined ? '' : `?${suffix.query}` }
    const message = { head, stripped, shape, body, args }
    const run = () => runTransform('request_transform', message, runOf(proxy))
    const owner = ownerOf(accepted.caller)
    return timed('transform', () => deps.codeRoom.run(body.length, run, owner, proxy.id))
  }

  /** The request with its body as it goes out. */
  const released = (
    { accepted }: Held,
    edits: Edits,
    body: Buffer | undefined,
    watch?: Watch,
  ): ExtProcReply => {
    if (body !== undefined) holds(body.length)
    if (watch !== undefined) watching = true
    else record.finish('forwarded')
    const { upstream, cluster } = accepted
    const replaced = body === undefined ? {} : { body }
    return { kind: 'release', prefix, upstream, cluster, edits, watch, ...replaced }
  }

  /** What the destination is told in the place of what the caller said. */
  const editsOf = (accepted: ResolvedRequest, remove: readonly string[]): Edits => ({
    set: new Map([
      [':authority', accepted.destination.authority],
      [':path', accepted.path],
      [traceHeader, record.traceId],
    ]),
    remove,
  })

  const onRequestHeaders = async (head: Head, endOfStream: boolean): Promise<ExtProcReply> => {
    if (isFlagSet(head, prefixes, 'stream')) throw new Error('a body that should come in pieces comes whole')
    const since = deps.clock.now()
    const accepted = await accept(head)
    const length = single(head, 'content-length')
    takeShare(accepted, endOfStream ? 0 : Number(length ?? UNKNOWN_BYTES))
    const { proxy, contentType, dryRun } = accepted
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const request: Held = { accepted, since, head, stripped: strippedNames(head, prefixes), shape }
    const edits = editsOf(accepted, request.stripped)
    const watch = dryRun ? undefined : watchOf(proxy)
    held = request
    if (!endOfStream) {
      if (length === undefined && !gone) growWhileWaiting(UNKNOWN_BYTES)
      return { kind: 'hold', prefix, edits, watch }
    }
    await record.called(accepted)
    if (dryRun) return dryRunOf(request, NO_BODY)
    if (shape === undefined) return released(request, edits, undefined, watch)
    const { edits: changes, body } = await transformed(request, shape, NO_BODY)
    const set = new Map(changes.set)
    if (body.length === 0) set.delete('content-length')
    const all = merged(edits, { set, remove: changes.remove })
    return released(request, all, body.length === 0 ? undefined : body, watch)
  }

  const onRequestBody = async (bytes: Buffer): Promise<ExtProcReply> => {
    if (held === undefined) throw new Error('a body came without accepted headers')
    const { shape } = held
    stopWaiting()
    holds(bytes.length)
    const caller = await callerStill(deps, prefixes, held.accepted, deps.clock.now() - held.since)
    const accepted = { ...held.accepted, caller }
    const { contentType, contentEncoding } = accepted
    const called = record.called(accepted)
    if (accepted.dryRun) {
      await called
      return dryRunOf({ ...held, accepted }, bytes)
    }
    const work = (shape === undefined ? detokenize : detokenizePlain)(
      { bytes, contentType, contentEncoding },
      { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed },
      () => effectiveCaller(deps, accepted),
      { traceId: record.traceId, now: deps.clock.now() },
    )
    // The call's record and those of its tokens share a write.
    const [found] = await Promise.all([work, called])
    record.tokens = found.tokens
    const watch = watchOf(accepted.proxy)
    const set = new Map([[traceHeader, record.traceId]])
    if (shape !== undefined) {
      const { edits, body } = await transformed(held, shape, found.body ?? bytes)
      return released(held, merged({ set, remove: [] }, withoutCoding(edits, contentEncoding)), body, watch)
    }
    if (found.body !== undefined) set.set('content-length', `${found.body.length}`)
    return released(held, { set, remove: found.decoded ? ['content-encoding'] : [] }, found.body, watch)
  }

  const onResponseHeaders = (head: Head, endOfStream: boolean): ExtProcReply => {
    destinationStatus = responseStatus(head, prefix)
    const otherwise = held?.accepted.proxy?.responseOtherwise
    response = endOfStream ? undefined : collectible(head, destinationStatus, otherwise, options.bodyLimit)
    if (response !== undefined && destinationStatus !== undefined) {
      const length = head.get('content-length')?.[0]
      holds(Number(length ?? UNKNOWN_BYTES))
      if (!gone) {
        if (length === undefined) growWhileWaiting(UNKNOWN_BYTES)
        late = setTimeout(() => rejectLate(new AppError('destination_timeout', LATE)), options.responseMs)
      }
      return { kind: 'collect', destinationStatus }
    }
    record.finish('forwarded')
    return { kind: 'pass' }
  }

  const onResponseBody = async (bytes: Buffer): Promise<ExtProcReply> => {
    const { proxy, caller } = held?.accepted ?? {}
    if (proxy === undefined || caller === undefined || response === undefined)
      throw new Error('an answer came that was not asked for')
    stopWaiting()
    holds(bytes.length)
    const collected = response
    const run = () => transformResponse(collected, bytes, runOf(proxy))
    const result =
      bytes.length === 0
        ? undefined
        : await timed('transform', () => deps.codeRoom.run(bytes.length, run, ownerOf(caller), proxy.id))
    record.finish('forwarded')
    return result === undefined ? { kind: 'pass' } : { kind: 'replace', ...result }
  }

  const begin = (head: Head): void => {
    prefix = prefixOf(head, prefixes)
    traceHeader = traceHeaderOf(prefixes, prefix)
    record.traceId = traceIdOf(head, traceHeader)
  }

  const replyTo = async (thrown: unknown): Promise<ExtProcReply> => {
    const error = AppError.from(thrown)
    await record.rejected(error)
    return {
      kind: 'reply',
      prefix,
      reply: proxyError(error, prefixes, prefix, record.traceId, destinationStatus),
    }
  }

  return {
    async upload(head, endOfStream, flow) {
      begin(head)
      const streamed = { ...shared, bodyLimit: options.upload.bytes }
      const acceptStreamed = async (of: Head) => {
        const accepted = await accept(of, streamed)
        takeShare(accepted, PIECES_BYTES)
        return accepted
      }
      const uploading = {
        prefixes,
        prefix,
        record,
        stepTimeout,
        timed,
        accept: acceptStreamed,
        edits: editsOf,
      }
      try {
        await uploadThrough(head, endOfStream, flow, uploading, deps, options)
        record.finish('forwarded')
      } catch (thrown) {
        if (gone) record.finish('interrupted')
        else await flow.write(await replyTo(thrown)).catch(() => {})
      }
    },
    onRequestHeaders(head, endOfStream) {
      begin(head)
      // Without a body a transform runs now.
      const ms = endOfStream ? options.codeStepMs : options.stepMs
      return step(ms, 0, () => onRequestHeaders(head, endOfStream))
    },
    body: (bytes) =>
      step(held?.shape === undefined ? options.stepMs : options.codeStepMs, bytes.length, () =>
        onRequestBody(bytes),
      ),
    onResponseHeaders: (head, endOfStream) =>
      step(options.stepMs, 0, async () => onResponseHeaders(head, endOfStream)),
    onResponseBody: (bytes) => step(options.codeStepMs, bytes.length, () => onResponseBody(bytes)),
    cancel() {
      gone = true
      stopWaiting()
      share?.release()
      stepTimeout.cancel()
      // The request is out, and nobody waits for its answer.
      if (watching) record.finish('forwarded')
    },
  }
}
