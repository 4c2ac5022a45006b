import { whenReady } from '../../common/eventual.ts'
import type { Accepted, Bound, Identified, Received } from '../request.ts'
import { first, type Step } from '../steps.ts'
import { authenticate } from './authenticate.ts'
import { authorizeCaller } from './authorize.ts'
import { bind } from './bind.ts'

/** Body duration, ms, after which the caller is identified again: a change is effective in all processes by then. */
const STALE_AFTER_MS = 1_000

const authorized = first(authenticate).next(authorizeCaller)
const bound = authorized.next(bind)

/**
 * An accepted request with its caller as it is now. No rate limit applies. Fails with `unauthenticated` and
 * `forbidden`.
 */
export const identifyAgain: Step<Accepted, Identified | Bound> = (accepted, context) =>
  (accepted.tunnel === undefined ? authorized : bound)({ ...accepted, sessionCaller: undefined }, context)

/**
 * The current caller of a request whose body was slow. The proxy stays the one that was called, because its destination
 * and its code belong together.
 */
export const refresh: Step<Received, Received> = (request, context) =>
  context.gateway.deps.steadyClock.now() - request.since <= STALE_AFTER_MS
    ? request
    : whenReady(identifyAgain(request, context), ({ caller }) => ({ ...request, caller }))
