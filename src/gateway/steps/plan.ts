import type { Evaluated, Planned } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { checkClosed } from '../surfaces/closed.ts'
import { planRequest } from '../surfaces/plan.ts'

const planned = async <T extends Evaluated>(
  request: T,
  acting: NonNullable<Evaluated['acting']>,
  { gateway, timed }: RequestContext,
): Promise<T & Planned> => {
  const { deps, options, prefixes } = gateway
  const { head, stripped, proxy, path, surfaces, hasBraces, sent } = request
  const source = { head, stripped, prefixes, proxy, path, surfaces, hasBraces, streamed: sent === undefined }
  const plan = await timed('plan', () => planRequest(source, sent, acting.language, options.body))
  await checkClosed(deps.vault, plan.closed, { caller: acting.caller, now: deps.clock.now() })
  return { ...request, plan }
}

/**
 * One plan for the expressions on all surfaces. Fails with `forbidden` for a caller who may use no token, with
 * `invalid_expression`, `malformed`, `too_large` and `expression_on_closed_surface`.
 */
export const plan = <T extends Evaluated>(
  request: T,
  context: RequestContext,
): (T & Planned) | Promise<T & Planned> =>
  request.acting === undefined ? { ...request, plan: undefined } : planned(request, request.acting, context)
