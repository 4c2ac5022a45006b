/** What is done with values in the response of a request (completions §17). */
import { GUARD_MODES, isGuardMode } from '../../access/guard-modes.ts'
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { prefixHeaders } from '../../ext-proc/contract.ts'
import type { GuardMode } from '../../sdk/index.ts'
import { Disclosures } from '../guard/disclosures.ts'
import { strictest } from '../guard/mode.ts'
import { prefixed } from '../headers.ts'
import type { Guarded, Identified } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Step } from '../steps.ts'
import { effectiveCaller } from './act.ts'

/** The mode that the call asks for. Throws `malformed` for an unknown word. */
const requestedMode = ({ head }: Identified, { gateway, prefix }: RequestContext): GuardMode | undefined => {
  const sent = prefixed(head, gateway.prefixes, 'guard')?.trim().toLowerCase()
  if (sent === undefined || isGuardMode(sent)) return sent
  const name = prefixHeaders(prefix).guard
  throw new AppError('malformed', `The header "${name}" is none of ${GUARD_MODES.join(', ')}.`)
}

/** Tenant and application decide, a stored proxy, and the call. */
const guarded = <T extends Identified>(
  request: T,
  call: GuardMode | undefined,
  context: RequestContext,
): Eventual<T & Guarded> =>
  whenReady(context.gateway.deps.tenantGuards.of(request.caller.tenantId), ({ mode, hasEgressOnly }) =>
    whenReady(effectiveCaller(request, context), ({ responseGuard }) => {
      const modes = { tenant: mode, application: responseGuard, proxy: request.proxy?.responseGuard, call }
      const decided = strictest(modes)
      // Envoy sends no response to a WebSocket's handshake here, nor its frames.
      const isAsked = (decided.mode !== 'off' || hasEgressOnly) && !context.origin?.isBodyUnread
      if (isAsked) context.disclosures = new Disclosures(decided.mode)
      return { ...request, guard: { ...decided, isAsked } }
    }),
  )

/** For a request to `/proxy`. */
export const guard: Step<Identified, Guarded> = (request, context) =>
  guarded(request, requestedMode(request, context), context)

/** For a request inside a tunnel, whose headers are the destination's. */
export const guardTunneled = <T extends Identified>(request: T, context: RequestContext) =>
  guarded(request, undefined, context)
