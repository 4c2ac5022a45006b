/**
 * One proxied request's life, from its headers to its release, and on to its answer when a transform waits for that
 * (interface, "Ephemeral proxy", "Pre-configured proxies"; completions §7). Knows HTTP, nothing of gRPC; stream.ts
 * carries its answers to Envoy.
 */
import { AppError } from '../common/errors.ts'
import type { Share, Shares } from '../common/shares.ts'
import { CALL_BYTES, PIECES_BYTES } from '../control-plane/limits.ts'
import type { Code, StoredProxy, Vault } from '../sdk/index.ts'
import { type Acceptance, type Accepted, acceptHead } from './accept.ts'
import { type AccountDeps, createAccount } from './account.ts'
import { actingIn } from './acting.ts'
import type { Admission } from './admission.ts'
import { createDestinations, type DestinationPolicy } from './destination.ts'
import { detokenize, detokenizePlain } from './detokenize.ts'
import { type RehearseDeps, rehearse } from './dry-run/rehearse.ts'
import {
  asks,
  type BrandRules,
  brandOf,
  type Edits,
  type Head,
  merged,
  single,
  strippedNames,
  traceHeaderOf,
  traceIdOf,
} from './headers.ts'
import { callerStill, identify, ownerOf } from './identify.ts'
import { createPatience } from './patience.ts'
import type { RecentHosts } from './recent-hosts.ts'
import { dryRunReply, proxyError } from './replies.ts'
import { createTimed, noting, type Stage, type Timed } from './stages.ts'
import { answerStatus, type CollectedAnswer, collectible, transformAnswer } from './transform/answer.ts'
import { type Shape, shapeOf } from './transform/content.ts'
import { runTransform, type Transformed, type TransformRun, withoutCoding } from './transform/run.ts'
import type { Answer, Exchange, Watch } from './types.ts'
import { type UploadingDeps, type UploadingOptions, uploadThrough } from './uploading.ts'

export interface ExchangeDeps
  extends AccountDeps,
    UploadingDeps,
    Pick<RehearseDeps, 'runIdle'>,
    Pick<Acceptance, 'clusterOf'> {
  readonly vault: Vault
  /** Bytes of Envoy's memory that calls hold, from their headers to the end of their response. */
  readonly held: Shares
  readonly hosts: RecentHosts
  /** Of transforms; the owners are the tenant and the proxy. */
  readonly codeRoom: Admission
  /** Runs transforms; absent: proxies that have one fail. */
  readonly code?: Pick<Code, 'run'> | undefined
}

export interface ExchangeOptions extends UploadingOptions {
  readonly brands: BrandRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `unavailable`. */
  readonly stepMs: number
  /** The same for a step that runs code, whose own time is bounded by the sandbox. */
  readonly codeStepMs: number
  /** Milliseconds from the headers of a response that a transform needs whole to its end. */
  readonly responseMs: number
  readonly bodyLimit: number
}

/** Makes an exchange; `refuse` is told of a reply in the place of a body that is waited for, and not wanted any more. */
export type StartExchange = (refuse: (reply: Answer) => void) => Exchange

/** What makes an exchange for each request; what they have in common is prepared here. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): StartExchange => {
  const shared: Shared = {
    deps,
    options,
    brands: options.brands,
    bodyLimit: options.bodyLimit,
    destinations: createDestinations(options.destinations),
    clusterOf: deps.clusterOf,
    timed: createTimed(deps.metrics),
  }
  return (refuse) => createExchange(shared, refuse)
}

interface Shared extends Acceptance {
  readonly deps: ExchangeDeps
  readonly options: ExchangeOptions
  readonly timed: Timed
}

/** A request whose headers were accepted. */
interface Held {
  readonly accepted: Accepted
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

const createExchange = (shared: Shared, refuse: (reply: Answer) => void): Exchange => {
  const { deps, options, brands } = shared
  const account = createAccount(deps)
  const patience = createPatience()
  let brand: string = brands.brands[0]
  let traceHeader = ''
  let held: Held | undefined
  let share: Share | undefined
  let growing: NodeJS.Timeout | undefined
  let late: NodeJS.Timeout | undefined
  let answer: CollectedAnswer | undefined
  let destinationStatus: string | undefined
  let watching = false
  let gone = false
  let timed = shared.timed
  const stages: Partial<Record<Stage, number>> = {}

  /** Bounded work for one message; what it rejects with becomes the answer. */
  const step = async (ms: number, bytes: number, work: () => Promise<Answer>): Promise<Answer> => {
    try {
      const owner = held === undefined ? [] : [ownerOf(held.accepted.caller)]
      return await patience.within(ms, deps.admission.run(bytes, work, ...owner))
    } catch (thrown) {
      return await replyTo(thrown)
    }
  }

  const accept = (head: Head, acceptance: Acceptance = shared): Promise<Accepted> =>
    acceptHead(head, brand, acceptance, (request) => {
      if (request.dryRun) timed = noting(timed, stages)
      return timed('authenticate', () =>
        identify(deps, brands, request, (identity) => {
          account.identity = identity
        }),
      )
    })

  /** Throws `rate_limited` when its tenant has its share of calls, of bytes that they hold, or of hosts. */
  const takeShare = ({ caller, destination: { upstream, host, port } }: Accepted, bytes: number): void => {
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
        refuseLate(thrown)
      }
    }, GROWS_MS)
  }
  const stopWaiting = (): void => {
    clearTimeout(growing)
    clearTimeout(late)
  }
  /** Of a body that is waited for. */
  const refuseLate = (thrown: unknown): void => {
    stopWaiting()
    void replyTo(thrown).then(refuse)
  }

  const runFor = (): Omit<TransformRun, 'code' | 'proxy'> => ({
    brands,
    texts: account.identity?.caller.actorType !== 'anonymous',
    traceId: account.traceId,
    signal: patience.signal(),
    limits: options.body,
  })

  const runOf = (proxy: StoredProxy): TransformRun => {
    if (deps.code === undefined) throw new AppError('unavailable', 'No code runs here. Ask the operator.')
    return { ...runFor(), code: deps.code, proxy }
  }

  const rehearsed = async ({ accepted, head }: Held, body: Buffer): Promise<Answer> => {
    const rehearsal = { accepted, head, body, now: deps.clock.now(), timed, stages, run: runFor() }
    const reply = dryRunReply(await rehearse(rehearsal, deps), brand, account.traceId)
    account.finish('dry_run')
    return { kind: 'reply', brand, reply }
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
  const released = ({ accepted }: Held, edits: Edits, body: Buffer | undefined, watch?: Watch): Answer => {
    if (body !== undefined) holds(body.length)
    if (watch !== undefined) watching = true
    else account.finish('forwarded')
    const { upstream, cluster } = accepted
    const replaced = body === undefined ? {} : { body }
    return { kind: 'release', brand, upstream, cluster, edits, watch, ...replaced }
  }

  /** What the destination is told in the place of what the caller said. */
  const editsOf = (accepted: Accepted, remove: readonly string[]): Edits => ({
    set: new Map([
      [':authority', accepted.destination.authority],
      [':path', accepted.path],
      [traceHeader, account.traceId],
    ]),
    remove,
  })

  const takeHeaders = async (head: Head, endOfStream: boolean): Promise<Answer> => {
    if (asks(head, brands, 'stream')) throw new Error('a body that should come in pieces comes whole')
    const since = deps.clock.now()
    const accepted = await accept(head)
    const length = single(head, 'content-length')
    takeShare(accepted, endOfStream ? 0 : Number(length ?? UNKNOWN_BYTES))
    const { proxy, contentType, dryRun } = accepted
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const request: Held = { accepted, since, head, stripped: strippedNames(head, brands), shape }
    const edits = editsOf(accepted, request.stripped)
    const watch = dryRun ? undefined : watchOf(proxy)
    held = request
    if (!endOfStream) {
      if (length === undefined && !gone) growWhileWaiting(UNKNOWN_BYTES)
      return { kind: 'hold', brand, edits, watch }
    }
    await account.called(accepted)
    if (dryRun) return rehearsed(request, NO_BODY)
    if (shape === undefined) return released(request, edits, undefined, watch)
    const { edits: changes, body } = await transformed(request, shape, NO_BODY)
    const set = new Map(changes.set)
    if (body.length === 0) set.delete('content-length')
    const all = merged(edits, { set, remove: changes.remove })
    return released(request, all, body.length === 0 ? undefined : body, watch)
  }

  const takeBody = async (bytes: Buffer): Promise<Answer> => {
    if (held === undefined) throw new Error('a body came without accepted headers')
    const { shape } = held
    stopWaiting()
    holds(bytes.length)
    const caller = await callerStill(deps, brands, held.accepted, deps.clock.now() - held.since)
    const accepted = { ...held.accepted, caller }
    const { contentType, contentEncoding } = accepted
    const called = account.called(accepted)
    if (accepted.dryRun) {
      await called
      return rehearsed({ ...held, accepted }, bytes)
    }
    const work = (shape === undefined ? detokenize : detokenizePlain)(
      { bytes, contentType, contentEncoding },
      { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed },
      () => actingIn(deps, accepted),
      { traceId: account.traceId, now: deps.clock.now() },
    )
    // The call's record and those of its tokens share a write.
    const [found] = await Promise.all([work, called])
    account.tokens = found.tokens
    const watch = watchOf(accepted.proxy)
    const set = new Map([[traceHeader, account.traceId]])
    if (shape !== undefined) {
      const { edits, body } = await transformed(held, shape, found.body ?? bytes)
      return released(held, merged({ set, remove: [] }, withoutCoding(edits, contentEncoding)), body, watch)
    }
    if (found.body !== undefined) set.set('content-length', `${found.body.length}`)
    return released(held, { set, remove: found.decoded ? ['content-encoding'] : [] }, found.body, watch)
  }

  const takeAnswerHeaders = (head: Head, endOfStream: boolean): Answer => {
    destinationStatus = answerStatus(head, brand)
    const otherwise = held?.accepted.proxy?.responseOtherwise
    answer = endOfStream ? undefined : collectible(head, destinationStatus, otherwise, options.bodyLimit)
    if (answer !== undefined && destinationStatus !== undefined) {
      const length = head.get('content-length')?.[0]
      holds(Number(length ?? UNKNOWN_BYTES))
      if (!gone) {
        if (length === undefined) growWhileWaiting(UNKNOWN_BYTES)
        late = setTimeout(() => refuseLate(new AppError('destination_timeout', LATE)), options.responseMs)
      }
      return { kind: 'collect', destinationStatus }
    }
    account.finish('forwarded')
    return { kind: 'pass' }
  }

  const takeAnswerBody = async (bytes: Buffer): Promise<Answer> => {
    const { proxy, caller } = held?.accepted ?? {}
    if (proxy === undefined || caller === undefined || answer === undefined)
      throw new Error('an answer came that was not asked for')
    stopWaiting()
    holds(bytes.length)
    const collected = answer
    const run = () => transformAnswer(collected, bytes, runOf(proxy))
    const result =
      bytes.length === 0
        ? undefined
        : await timed('transform', () => deps.codeRoom.run(bytes.length, run, ownerOf(caller), proxy.id))
    account.finish('forwarded')
    return result === undefined ? { kind: 'pass' } : { kind: 'replace', ...result }
  }

  const begin = (head: Head): void => {
    brand = brandOf(head, brands)
    traceHeader = traceHeaderOf(brands, brand)
    account.traceId = traceIdOf(head, traceHeader)
  }

  const replyTo = async (thrown: unknown): Promise<Answer> => {
    const error = AppError.from(thrown)
    await account.refused(error)
    return {
      kind: 'reply',
      brand,
      reply: proxyError(error, brands, brand, account.traceId, destinationStatus),
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
      const uploading = { brands, brand, account, patience, timed, accept: acceptStreamed, edits: editsOf }
      try {
        await uploadThrough(head, endOfStream, flow, uploading, deps, options)
        account.finish('forwarded')
      } catch (thrown) {
        if (gone) account.finish('interrupted')
        else await flow.write(await replyTo(thrown)).catch(() => {})
      }
    },
    headers(head, endOfStream) {
      begin(head)
      // Without a body a transform runs now.
      const ms = endOfStream ? options.codeStepMs : options.stepMs
      return step(ms, 0, () => takeHeaders(head, endOfStream))
    },
    body: (bytes) =>
      step(held?.shape === undefined ? options.stepMs : options.codeStepMs, bytes.length, () =>
        takeBody(bytes),
      ),
    answerHeaders: (head, endOfStream) =>
      step(options.stepMs, 0, async () => takeAnswerHeaders(head, endOfStream)),
    answerBody: (bytes) => step(options.codeStepMs, bytes.length, () => takeAnswerBody(bytes)),
    abandon() {
      gone = true
      stopWaiting()
      share?.release()
      patience.giveUp()
      // The request is out, and nobody waits for its answer.
      if (watching) account.finish('forwarded')
    },
  }
}
