/**
 * One proxied request's life, from its headers to its release, and on to its answer when a transform waits for that
 * (interface, "Ephemeral proxy", "Pre-configured proxies"; completions §7). Knows HTTP, nothing of gRPC; stream.ts
 * carries its answers to Envoy.
 */
import { AppError } from '../common/errors.ts'
import type { Upstream } from '../control-plane/agreement.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Code, StoredProxy, Vault } from '../sdk/index.ts'
import { type Acceptance, type Accepted, acceptHead } from './accept.ts'
import { type AccountDeps, createAccount } from './account.ts'
import { type ActingDeps, actingIn } from './acting.ts'
import type { Admission } from './admission.ts'
import type { BodyLimits } from './body/rewrite.ts'
import { createDestinations, type DestinationPolicy } from './destination.ts'
import { type Detokenized, detokenize, plainBody } from './detokenize.ts'
import { type RehearseDeps, rehearse } from './dry-run/rehearse.ts'
import {
  type BrandRules,
  brandOf,
  type Edits,
  type Head,
  strippedNames,
  traceHeaderOf,
  traceIdOf,
} from './headers.ts'
import { type IdentifyDeps, identify } from './identify.ts'
import { createPatience } from './patience.ts'
import { dryRunReply, proxyError, type Reply } from './replies.ts'
import { createTimed, noting, type Stage, type Timed } from './stages.ts'
import { answerStatus, type CollectedAnswer, collectible, transformAnswer } from './transform/answer.ts'
import { type Shape, shapeOf } from './transform/content.ts'
import { runTransform, type Transformed, type TransformRun, withoutCoding } from './transform/run.ts'

/**
 * What Envoy is told. Of the request, `hold`: wait for the body; only `release` names where it goes; `watch`: the answer
 * is wanted too. Of the answer, `pass`: it goes on as it is; `collect`: its body is wanted, whole; `replace`.
 */
export type Answer =
  | { readonly kind: 'hold'; readonly brand: string; readonly edits: Edits; readonly watch?: boolean }
  | {
      readonly kind: 'release'
      readonly brand: string
      readonly edits: Edits
      readonly upstream: Upstream
      /** Absent: the body stays as it came. */
      readonly body?: Buffer
      readonly watch?: boolean
    }
  | { readonly kind: 'pass' }
  | { readonly kind: 'collect'; readonly destinationStatus: string }
  | { readonly kind: 'replace'; readonly edits: Edits; readonly body: Buffer }
  | { readonly kind: 'reply'; readonly brand: string; readonly reply: Reply }

/** No step rejects: a failure is a `reply`. Each is called at most once, in this order; the last two when it watches. */
export interface Exchange {
  headers(head: Head, endOfStream: boolean): Promise<Answer>
  body(body: Buffer): Promise<Answer>
  answerHeaders(head: Head, endOfStream: boolean): Promise<Answer>
  answerBody(body: Buffer): Promise<Answer>
  /** The caller went away: what is waited for is let go. */
  abandon(): void
}

export interface ExchangeDeps extends AccountDeps, IdentifyDeps, ActingDeps, Pick<RehearseDeps, 'runIdle'> {
  readonly vault: Vault
  readonly expressions: Expressions
  readonly admission: Admission
  /** Runs transforms; absent: proxies that have one fail. */
  readonly code?: Pick<Code, 'run'> | undefined
}

export interface ExchangeOptions {
  readonly brands: BrandRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `unavailable`. */
  readonly stepMs: number
  /** The same for a step that runs code, whose own time is bounded by the sandbox. */
  readonly codeStepMs: number
  readonly body: BodyLimits
  readonly bodyLimit: number
}

/** What makes an exchange for each request; what they have in common is prepared here. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): (() => Exchange) => {
  const shared: Shared = {
    deps,
    options,
    brands: options.brands,
    bodyLimit: options.bodyLimit,
    destinations: createDestinations(options.destinations),
    timed: createTimed(deps.metrics),
  }
  return () => createExchange(shared)
}

interface Shared extends Acceptance {
  readonly deps: ExchangeDeps
  readonly options: ExchangeOptions
  readonly timed: Timed
}

/** A request whose headers were accepted. */
interface Held {
  readonly accepted: Accepted
  readonly head: Head
  readonly stripped: readonly string[]
  /** Undefined: no request transform applies. */
  readonly shape: Shape | undefined
}

const NO_BODY = Buffer.alloc(0)

const merged = (first: Edits, second: Edits): Edits => ({
  set: new Map([...first.set, ...second.set]),
  remove: [...first.remove, ...second.remove],
})

const createExchange = (shared: Shared): Exchange => {
  const { deps, options, brands } = shared
  const account = createAccount(deps)
  const patience = createPatience()
  let brand: string = brands.brands[0]
  let traceHeader = ''
  let held: Held | undefined
  let answer: CollectedAnswer | undefined
  let destinationStatus: string | undefined
  let watching = false
  let timed = shared.timed
  const stages: Partial<Record<Stage, number>> = {}

  /** Bounded work for one message; what it rejects with becomes the answer. */
  const step = async (ms: number, bytes: number, work: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await patience.within(ms, deps.admission.run(bytes, work))
    } catch (thrown) {
      const error = AppError.from(thrown)
      await account.refused(error)
      return {
        kind: 'reply',
        brand,
        reply: proxyError(error, brands, brand, account.traceId, destinationStatus),
      }
    }
  }

  const accept = (head: Head): Promise<Accepted> =>
    acceptHead(head, brand, shared, (request) => {
      if (request.dryRun) {
        timed = noting(timed, stages)
      }
      return timed('authenticate', () =>
        identify(deps, brands, request, (identity) => {
          account.identity = identity
        }),
      )
    })

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
    return timed('transform', () => runTransform('request_transform', message, runOf(proxy)))
  }

  /** The request with its body as it goes out. */
  const released = ({ accepted }: Held, edits: Edits, body: Buffer | undefined, watch: boolean): Answer => {
    if (watch) watching = true
    else account.finish('forwarded')
    const { upstream } = accepted.destination
    return { kind: 'release', brand, upstream, edits, watch, ...(body === undefined ? {} : { body }) }
  }

  const takeHeaders = async (head: Head, endOfStream: boolean): Promise<Answer> => {
    const accepted = await accept(head)
    const { proxy, contentType, dryRun } = accepted
    await account.called(accepted)
    const shape = proxy?.requestTransform === undefined ? undefined : shapeOf(contentType)
    const request: Held = { accepted, head, stripped: strippedNames(head, brands), shape }
    const edits: Edits = {
      set: new Map([
        [':authority', accepted.destination.authority],
        [':path', accepted.path],
        [traceHeader, account.traceId],
      ]),
      remove: request.stripped,
    }
    const watch = proxy?.responseTransform !== undefined && !dryRun
    held = request
    if (!endOfStream) return { kind: 'hold', brand, edits, watch }
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
    const { accepted, shape } = held
    if (accepted.dryRun) return rehearsed(held, bytes)
    const { contentType, contentEncoding, proxy } = accepted
    const sent = { bytes, contentType, contentEncoding }
    const plain = shape === undefined ? undefined : await plainBody(sent, options.body)
    const context = { traceId: account.traceId, now: deps.clock.now() }
    const found: Detokenized = await detokenize(
      plain === undefined ? sent : { bytes: plain, contentType, contentEncoding: undefined },
      { vault: deps.vault, expressions: deps.expressions, limits: options.body, timed },
      () => actingIn(deps, accepted),
      context,
    )
    account.tokens = found.tokens
    const watch = proxy?.responseTransform !== undefined
    const set = new Map([[traceHeader, account.traceId]])
    if (shape !== undefined) {
      const { edits, body } = await transformed(held, shape, found.body ?? plain ?? bytes)
      return released(held, merged({ set, remove: [] }, withoutCoding(edits, contentEncoding)), body, watch)
    }
    if (found.body !== undefined) set.set('content-length', `${found.body.length}`)
    return released(held, { set, remove: found.decoded ? ['content-encoding'] : [] }, found.body, watch)
  }

  const takeAnswerHeaders = (head: Head, endOfStream: boolean): Answer => {
    destinationStatus = answerStatus(head, brand)
    answer = endOfStream ? undefined : collectible(head, destinationStatus, options.bodyLimit)
    if (answer !== undefined && destinationStatus !== undefined) return { kind: 'collect', destinationStatus }
    account.finish('forwarded')
    return { kind: 'pass' }
  }

  const takeAnswerBody = async (bytes: Buffer): Promise<Answer> => {
    const proxy = held?.accepted.proxy
    if (proxy === undefined || answer === undefined) throw new Error('an answer came that was not asked for')
    const collected = answer
    const result =
      bytes.length === 0
        ? undefined
        : await timed('transform', () => transformAnswer(collected, bytes, runOf(proxy)))
    account.finish('forwarded')
    return result === undefined ? { kind: 'pass' } : { kind: 'replace', ...result }
  }

  return {
    headers(head, endOfStream) {
      brand = brandOf(head, brands)
      traceHeader = traceHeaderOf(brands, brand)
      account.traceId = traceIdOf(head, traceHeader)
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
      patience.giveUp()
      // The request is out, and nobody waits for its answer.
      if (watching) account.finish('forwarded')
    },
  }
}
