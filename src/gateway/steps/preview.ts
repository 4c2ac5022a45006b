/** The tokens and the body of a dry run, with masks in the place of values (../README.md, "Dry runs"). */
import { AppError } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import { createCodeScope } from '../../egress/code-scope.ts'
import type { UseContext, UsedToken } from '../../sdk/index.ts'
import type { RequestBody } from '../body/plain.ts'
import type { Plan } from '../body/rewrite.ts'
import { decodedBody, shownBody } from '../dry-run/bodies.ts'
import { responseFixture } from '../dry-run/response.ts'
import { type PreviewedTokens, previewTokens, rejectionOf } from '../dry-run/tokens.ts'
import { resolver } from '../language.ts'
import { type Evaluated, outboundOf, type Planned, type Received } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { RequestPlan } from '../surfaces/plan.ts'
import type { Checked } from './check.ts'

type Acting = NonNullable<Evaluated['acting']>

/** A dry run with its body without its coding, where that can be undone, and the response to try, if there is one. */
interface Shown extends Received {
  readonly sent: RequestBody
  readonly fixture: ReturnType<typeof responseFixture>
}

interface Previewed extends Shown, Checked {
  readonly acting: Acting
  readonly plan: RequestPlan
  readonly tokens: PreviewedTokens
  /** Why the call would be rejected for its checks or its tokens. */
  readonly rejection: AppError | undefined
}

export interface Masked extends Previewed {
  /** The body with masked values. */
  readonly masked: Buffer
  /** False: an expression cannot be evaluated on masks, and `masked` is the body as it was sent. */
  readonly isEvaluable: boolean
  /** `masked` as it is shown, if it can be shown. */
  readonly before: Json | undefined
}

/** Rejects as the call itself would, and with `malformed` for a response that is none. */
export const show = async (request: Received, { gateway }: RequestContext): Promise<Shown> => {
  const { head, bytes, contentType, contentEncoding } = request
  const sent = await decodedBody({ bytes, contentType, contentEncoding }, gateway.options.body)
  return { ...request, sent, fixture: responseFixture(head, gateway.prefixes) }
}

/** How the call would use its tokens. Nothing is used: masks that are shown are recorded as reads. */
export const preview = async (
  request: Shown & Planned & Checked & { readonly acting: Acting },
  { gateway, telemetry, timed }: RequestContext,
): Promise<Previewed> => {
  const { deps } = gateway
  const { acting, plan, caller, proxy } = request
  if (plan === undefined) throw new Error('a dry run without a plan')
  const destination = outboundOf(request)
  const useContext: UseContext = {
    traceId: telemetry.traceId,
    now: deps.clock.now(),
    caller: acting.caller,
    reader: caller,
    work: acting.work,
    destination,
    surfacesOf: plan.surfacesOf,
    copies: plan.head?.copies,
    code: proxy?.requestTransform === undefined ? undefined : createCodeScope(destination),
  }
  const tokens = await timed('use', () => previewTokens(deps.vault, plan.ids, plan.surfacesOf, useContext))
  const rejection =
    request.denial ?? (plan.texts().length === 0 ? undefined : rejectionOf(tokens, acting.caller))
  return { ...request, plan, tokens, rejection }
}

/** Undefined when an expression cannot be evaluated on masked values. */
const maskedBody = async (
  plan: Extract<Plan, { kind: 'rewrite' }>,
  tokens: ReadonlyMap<string, UsedToken>,
  { work }: Acting,
): Promise<Buffer | undefined> => {
  try {
    return await plan.apply(resolver(tokens), work)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'invalid_expression') return undefined
    throw thrown
  }
}

export const applyMasks = async (request: Previewed, { timed }: RequestContext): Promise<Masked> => {
  const { sent, plan, tokens, acting } = request
  const { body } = plan
  const { used } = tokens
  const masked =
    body.kind === 'rewrite' && used !== undefined
      ? await timed('apply', () => maskedBody(body, used, acting))
      : sent.bytes
  const bytes = masked ?? sent.bytes
  return {
    ...request,
    masked: bytes,
    isEvaluable: masked !== undefined,
    before: await shownBody({ ...sent, bytes }),
  }
}
