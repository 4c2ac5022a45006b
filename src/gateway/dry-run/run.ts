/** Dry run: reports the processing of a request without sending it (../README.md, "Dry runs"). */
import { AppError, type Problem } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import { createCodeScope } from '../../egress/code-scope.ts'
import { scanText } from '../../expressions/scan.ts'
import type { Expressions } from '../../expressions/types.ts'
import { bodyWork, type Work } from '../../expressions/work.ts'
import { prefixHeaders } from '../../ext-proc/contract.ts'
import type { StoredProxy, UsedToken, Vault } from '../../sdk/index.ts'
import type { Plan } from '../body/rewrite.ts'
import { type EffectiveCallerDeps, effectiveCallerInDryRun } from '../effective-caller.ts'
import { type Head, strippedNames } from '../headers.ts'
import { resolver } from '../language.ts'
import type { ResolvedRequest } from '../resolve-request.ts'
import { checkClosed } from '../surfaces/closed.ts'
import { planRequest } from '../surfaces/plan.ts'
import type { Stage, Timed } from '../timings.ts'
import { shapeOf } from '../transform/content.ts'
import type { TransformRun } from '../transform/run.ts'
import { decodedBody, shownBody } from './bodies.ts'
import { type DryRunResponse, dryRunResponse, responseFixture } from './response.ts'
import { previewTokens, rejectionOf, type TokenPlan } from './tokens.ts'
import {
  type DryRunTransform,
  dryRunTransform,
  type RunWithoutEffects,
  type TransformPlan,
  withoutConfiguration,
} from './transform.ts'

export interface DryRunDeps extends EffectiveCallerDeps {
  readonly vault: Pick<Vault, 'preview' | 'known'>
  readonly expressions: Expressions
  readonly runWithoutEffects: RunWithoutEffects
}

export interface DryRunRequest {
  readonly accepted: ResolvedRequest
  readonly head: Head
  readonly body: Buffer
  readonly now: number
  readonly timed: Timed
  /** Milliseconds, written by `timed`. */
  readonly stages: Readonly<Partial<Record<Stage, number>>>
  readonly run: Omit<TransformRun, 'code' | 'proxy'>
}

/** The response. Lists end after 1,000 entries, changes after 100 of a kind; bodies over 256 KiB are not shown. */
export interface DryRun {
  readonly dry_run: true
  /** Whether the request would have been sent. */
  readonly forwards: boolean
  /** The response that the caller would have got instead. */
  readonly proxy_error?: Problem
  readonly destination: { readonly method: string; readonly url: string; readonly query: readonly string[] }
  /** The application whose grants decided. */
  readonly acting: { readonly id: string; readonly as: 'caller' | 'application of the proxy' }
  readonly expressions: readonly string[]
  readonly tokens: readonly TokenPlan[]
  readonly request_transform?: TransformPlan
  readonly response_transform?: TransformPlan
  readonly body: { readonly before?: Json; readonly after?: Json }
  /** Result for the response that the caller supplied in a header. Absent: none, or the call would not be forwarded. */
  readonly response?: DryRunResponse
  readonly stages: DryRunRequest['stages']
  readonly notes: readonly string[]
}

const MAX_LINES = 1_000

const NOTES = {
  masked:
    'Nothing was sent. Values are shown by the masks of their tokens, and are null for tokens without a mask.',
  code: 'The transform ran with masked values, so what it computes of them differs from a call. bt and fetch do nothing in a dry run.',
  configuration:
    'The transform ran with names in the place of its configuration, which a private application may not read.',
  expressions:
    'An expression cannot be evaluated on masked values. The body is shown, and was given to the transform, as it was sent.',
} as const

const noResponse = (prefix: string) =>
  `It runs on 2xx responses with JSON or a form, and a dry run has no response. Give it one in the header "${prefixHeaders(prefix).dryRunResponse}", as {"status":200,"headers":{},"body":{}}.`

/**
 * Origin and path, and of the query the names. `concealed`: of a stored URL, whose path may hold a secret, only the
 * origin, and the names that the caller sent itself.
 */
const destinationOf = (
  { destination, method, path, suffix }: ResolvedRequest,
  concealed: boolean,
): DryRun['destination'] => {
  const [at = '', query = ''] = concealed ? ['/', suffix.query] : path.split(/\?(.*)/s)
  const scheme = destination.upstream === 'http' ? 'http' : 'https'
  const names = new Set(new URLSearchParams(query).keys())
  return { method, url: `${scheme}://${destination.authority}${at}`, query: [...names] }
}

const expressionsIn = (texts: readonly string[]): readonly string[] =>
  texts
    .flatMap((text) =>
      scanText(text).flatMap(({ kind, start, end }) =>
        kind === 'expression' ? [text.slice(start, end)] : [],
      ),
    )
    .slice(0, MAX_LINES)

/** The body with masked values; undefined when an expression cannot be evaluated on them. */
const applied = async (
  plan: Extract<Plan, { kind: 'rewrite' }>,
  tokens: ReadonlyMap<string, UsedToken>,
  work: Work,
): Promise<Buffer | undefined> => {
  try {
    return await plan.apply(resolver(tokens), work)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'invalid_expression') return undefined
    throw thrown
  }
}

/** Rejects as the call itself would for what its headers and body are; what stops it later is in the response. */
export const runDryRun = async (dryRun: DryRunRequest, deps: DryRunDeps): Promise<DryRun> => {
  const { accepted, head, body, now, timed, stages, run } = dryRun
  const { contentType, contentEncoding, caller, proxy, method, suffix, path, surfaces, hasBraces } = accepted
  const notes: string[] = [NOTES.masked]
  const sent = await decodedBody({ bytes: body, contentType, contentEncoding }, run.limits)
  const fixture = responseFixture(head, run.prefixes)
  const work = bodyWork()
  const stripped = strippedNames(head, run.prefixes, accepted.request)
  const { prefixes } = run
  const source = { head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: false }
  const request = await timed('plan', () =>
    planRequest(source, sent, deps.expressions.within(work), run.limits),
  )
  await checkClosed(deps.vault, request.closed, { caller, now })
  const { body: plan, ids, surfacesOf } = request
  const texts = request.texts()
  const acting = await effectiveCallerInDryRun(deps, accepted)
  const context = {
    ...{
      traceId: run.traceId,
      now,
      caller: acting,
      reader: caller,
      work,
      destination: run.destination,
      surfacesOf,
    },
    copies: request.head?.copies,
    code: proxy?.requestTransform === undefined ? undefined : createCodeScope(run.destination),
  }
  const previewed = await timed('use', () => previewTokens(deps.vault, ids, surfacesOf, context))
  const { plans, used } = previewed
  const rejection = texts.length === 0 ? undefined : rejectionOf(previewed, acting)

  let { bytes } = sent
  if (plan.kind === 'rewrite' && used !== undefined) {
    const masked = await timed('apply', () => applied(plan, used, work))
    if (masked === undefined) notes.push(NOTES.expressions)
    else bytes = masked
  }
  const before = await shownBody({ ...sent, bytes })

  const hidden = caller.applicationType === 'private' && Object.keys(proxy?.configuration ?? {}).length > 0
  const shownProxy = (of: StoredProxy) => (hidden ? withoutConfiguration(of) : of)

  const transformed = async (): Promise<DryRunTransform | undefined> => {
    const shape = shapeOf(contentType)
    const { runWithoutEffects } = deps
    if (proxy?.requestTransform === undefined) return undefined
    const without = (reason: string) => ({ plan: { ran: false, reason }, after: before })
    if (rejection !== undefined) return without('The call would be denied before.')
    if (shape === undefined) return without('The content type is neither JSON nor a form.')
    notes.push(NOTES.code)
    if (hidden) notes.push(NOTES.configuration)
    const args = { method, path: suffix.path, query: suffix.query === undefined ? '' : `?${suffix.query}` }
    const message = { head, stripped, shape, body: bytes, args }
    return timed('transform', () =>
      dryRunTransform('request_transform', message, { ...run, proxy: shownProxy(proxy) }, runWithoutEffects),
    )
  }

  /** The plan of the response transform, and what it makes of a response, if there is one to make something of. */
  const responded = async (forwards: boolean) => {
    const { runWithoutEffects } = deps
    if (proxy?.responseTransform === undefined) return {}
    if (fixture === undefined || !forwards)
      return { response_transform: { ran: false, reason: noResponse(run.prefixes.prefixes[0]) } }
    const { plan: response_transform, response: serialized } = await timed('transform', () =>
      dryRunResponse(fixture, { ...run, proxy: shownProxy(proxy) }, runWithoutEffects),
    )
    return { response_transform, response: serialized }
  }

  const transform = await transformed()
  const error = rejection ?? transform?.error
  const response = await responded(error === undefined)
  const after = transform === undefined ? before : transform.after
  return {
    dry_run: true,
    forwards: error === undefined,
    ...(error === undefined ? {} : { proxy_error: error.toProblem() }),
    destination: destinationOf(accepted, proxy !== undefined && caller.applicationType === 'private'),
    acting: { id: acting.actorId, as: acting === caller ? 'caller' : 'application of the proxy' },
    expressions: expressionsIn(texts),
    tokens: plans.slice(0, MAX_LINES),
    ...(transform === undefined ? {} : { request_transform: transform.plan }),
    ...response,
    body: {
      ...(before === undefined ? {} : { before }),
      ...(after === undefined || error !== undefined ? {} : { after }),
    },
    stages,
    notes,
  }
}
