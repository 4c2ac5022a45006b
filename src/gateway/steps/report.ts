/** The report of a dry run (../README.md, "Dry runs"). */
import type { Problem } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import { scanText } from '../../expressions/scan.ts'
import type { CheckPlan } from '../dry-run/checks.ts'
import type { DryRunResponse } from '../dry-run/response.ts'
import type { TokenPlan } from '../dry-run/tokens.ts'
import type { TransformPlan } from '../dry-run/transform.ts'
import type { Guard } from '../guard/mode.ts'
import { dryRunReply } from '../replies.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Stages } from '../timings.ts'
import type { ExtProcReply } from '../types.ts'
import { isConfigurationHidden, type TriedResponse } from './try-code.ts'

/** The response. Lists end after 1,000 entries, changes after 100 of a kind; bodies over 256 KiB are not shown. */
interface DryRun {
  readonly dry_run: true
  /** Whether the request would have been sent. */
  readonly forwards: boolean
  /** The response that the caller would have got instead. */
  readonly proxy_error?: Problem
  readonly destination: { readonly method: string; readonly url: string; readonly query: readonly string[] }
  /** The application whose grants decided. */
  readonly acting: { readonly id: string; readonly as: 'caller' | 'application of the proxy' }
  /** The mode of the response guard that would hold, and the setting that decided. */
  readonly guard: Pick<Guard, 'mode' | 'from'>
  readonly expressions: readonly string[]
  readonly tokens: readonly TokenPlan[]
  /** Absent: no plugin has one. */
  readonly checks?: readonly CheckPlan[]
  readonly request_transform?: TransformPlan
  readonly response_transform?: TransformPlan
  readonly body: { readonly before?: Json; readonly after?: Json }
  /** Result for the response that the caller supplied in a header. Absent: none, or the call would not be forwarded. */
  readonly response?: DryRunResponse
  /** Milliseconds. */
  readonly stages: Stages
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

const notesOf = (request: TriedResponse): readonly string[] => {
  const ran = request.transform?.plan.ran === true
  return [
    NOTES.masked,
    ...(request.isEvaluable ? [] : [NOTES.expressions]),
    ...(ran ? [NOTES.code] : []),
    ...(ran && isConfigurationHidden(request) ? [NOTES.configuration] : []),
  ]
}

/**
 * Origin and path, and of the query the names. Of a stored URL, whose path may hold a secret, a private application
 * sees the origin, `…` for the path, and then the path and the names that it sent itself.
 */
const destinationOf = ({
  destination,
  method,
  path,
  suffix,
  proxy,
  caller,
}: Resolved): DryRun['destination'] => {
  const isConcealed = proxy !== undefined && caller.applicationType === 'private'
  const [at = '', query = ''] = isConcealed ? [`/…${suffix.path}`, suffix.query] : path.split(/\?(.*)/s)
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

/** The end of a dry run: the report takes the place of the call. */
export const report = (request: TriedResponse, context: RequestContext): ExtProcReply => {
  const { acting, caller, plan, tokens, transform, response, before, error, checks } = request
  const { telemetry, prefix, traceId } = context
  const after = transform === undefined ? before : transform.after
  const dryRun: DryRun = {
    dry_run: true,
    forwards: error === undefined,
    ...(error === undefined ? {} : { proxy_error: error.toProblem() }),
    destination: destinationOf(request),
    acting: {
      id: acting.caller.actorId,
      as: acting.caller === caller ? 'caller' : 'application of the proxy',
    },
    guard: { mode: request.guard.mode, from: request.guard.from },
    expressions: expressionsIn(plan.texts()),
    tokens: tokens.plans.slice(0, MAX_LINES),
    ...(checks === undefined ? {} : { checks }),
    ...(transform === undefined ? {} : { request_transform: transform.plan }),
    ...response,
    body: {
      ...(before === undefined ? {} : { before }),
      ...(after === undefined || error !== undefined ? {} : { after }),
    },
    stages: telemetry.stages,
    notes: notesOf(request),
  }
  telemetry.finish('dry_run')
  return { kind: 'immediateResponse', prefix, reply: dryRunReply(dryRun, prefix, traceId) }
}
