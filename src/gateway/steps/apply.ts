/** Values in the place of expressions, in the body and in the URL. */
import type { UsedToken } from '../../sdk/index.ts'
import { resolver } from '../language.ts'
import type { Outgoing, Used } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

/** Throws `destination_not_allowed` for a token that may not go to this path and query, in which values stand. */
export const checkPaths = (used: ReadonlyMap<string, UsedToken>, path: string): void => {
  for (const token of used.values()) token.checkPath?.(path)
}

const applied = async <T extends Used>(
  request: T,
  { plan, work }: { readonly plan: NonNullable<T['plan']>; readonly work: NonNullable<T['acting']>['work'] },
  context: RequestContext,
): Promise<T & Outgoing> => {
  const { used } = request
  const { disclosures } = context
  const { body: bodyPlan, head } = plan
  const body =
    bodyPlan.kind === 'pass'
      ? undefined
      : await context.timed('apply', () => bodyPlan.apply(resolver(used, { disclosures }), work))
  const remove = bodyPlan.kind === 'rewrite' && bodyPlan.decoded ? ['content-encoding'] : []
  const set = tracedEdits(context)
  if (body !== undefined) set.set('content-length', `${body.length}`)
  // Before code runs: what cannot be a URL must not be called by it either.
  const url = await head?.url(resolver(used, { place: 'url', disclosures }), work)
  if (url === undefined) context.releaseValues()
  else
    try {
      checkPaths(used, url)
    } catch (thrown) {
      throw await plan.located(thrown)
    }
  context.telemetry.tokens += used.size
  return { ...request, body, url, edits: { set, remove } }
}

const tracedEdits = ({ traceHeader, traceId }: RequestContext): Map<string, string> =>
  new Map([[traceHeader, traceId]])

/** Fails with `invalid_expression`, `uri_too_long`, `too_large` and `destination_not_allowed`. */
export const apply = <T extends Used>(
  request: T,
  context: RequestContext,
): (T & Outgoing) | Promise<T & Outgoing> => {
  const { plan, acting } = request
  return plan === undefined || acting === undefined
    ? {
        ...request,
        body: undefined,
        url: undefined,
        edits: { set: tracedEdits(context), remove: [] },
      }
    : applied(request, { plan, work: acting.work }, context)
}
