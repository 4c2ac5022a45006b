/** The tokens of a request, read, allowed and recorded. */
import { AppError } from '../../common/errors.ts'
import { createCodeScope } from '../../egress/code-scope.ts'
import { BODY_ONLY } from '../../egress/surfaces.ts'
import type { CodeScope, UseContext, UsedToken } from '../../sdk/index.ts'
import { outboundOf, type Planned, type Resolved, type Used } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

const NO_TOKENS: ReadonlyMap<string, UsedToken> = new Map()

const bodyOnly = () => BODY_ONLY

/**
 * How a request uses tokens: where their values go, and who decides. `codeScope`: of the transform that gets them
 * first.
 */
export const useContextOf = (
  request: Resolved,
  { gateway, telemetry }: RequestContext,
  codeScope?: CodeScope,
): Omit<UseContext, 'caller'> => ({
  traceId: telemetry.traceId,
  now: gateway.deps.clock.now(),
  destination: outboundOf(request),
  surfacesOf: bodyOnly,
  code: codeScope,
  decisions: telemetry.decisions,
  isAnonymous: request.caller.actorType === 'anonymous',
})

/** Of code that runs on the request or its response: what it is given counts as disclosed. */
export const codeScopeOf = (request: Resolved, { disclosures }: RequestContext): CodeScope =>
  createCodeScope(outboundOf(request), disclosures && ((token) => disclosures.given(token)))

/**
 * Throws `overloaded` when a value that no caller may read would go out, and the response was not asked for: the tenant
 * got its first such token while the request came in.
 */
export const checkGuarded = (
  { guard }: Resolved,
  used: ReadonlyMap<string, UsedToken>,
  { origin }: RequestContext,
): void => {
  if (guard.isAsked || origin?.isBodyUnread) return
  for (const { isEgressOnly } of used.values())
    if (isEgressOnly)
      throw new AppError('overloaded', 'The response guard does not cover this call yet. Retry.', {
        retryAfter: 1,
      })
}

const used = async <T extends Planned>(
  request: T,
  { acting, plan }: { readonly acting: NonNullable<T['acting']>; readonly plan: NonNullable<T['plan']> },
  context: RequestContext,
): Promise<T & Used> => {
  const codeScope = request.proxy?.requestTransform === undefined ? undefined : codeScopeOf(request, context)
  if (plan.ids.length === 0) return { ...request, used: NO_TOKENS, codeScope }
  const useContext: UseContext = {
    ...useContextOf(request, context, codeScope),
    caller: acting.caller,
    work: acting.work,
    hold: (held) => context.hold(held),
    surfacesOf: plan.surfacesOf,
    copies: plan.head?.copies,
  }
  const { vault } = context.gateway.deps
  try {
    const tokens = await context.timed('use', () => vault.use(plan.ids, useContext))
    checkGuarded(request, tokens, context)
    return { ...request, used: tokens, codeScope }
  } catch (thrown) {
    throw await plan.located(thrown)
  }
}

/** All tokens in one read. Fails as `Vault.use` does, with the places that name the tokens. */
export const use = <T extends Planned>(
  request: T,
  context: RequestContext,
): (T & Used) | Promise<T & Used> => {
  const { acting, plan } = request
  return acting === undefined || plan === undefined
    ? { ...request, used: NO_TOKENS, codeScope: undefined }
    : used(request, { acting, plan }, context)
}
