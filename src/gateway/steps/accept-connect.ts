/** Validates a CONNECT on the forward proxy (completions §15). */
import { CLIENT_ADDRESS_HEADER } from '../../common/rate-limiter.ts'
import { proxyCredentials } from '../forward/credentials.ts'
import { single } from '../headers.ts'
import type { Accepted, Arrived } from '../request.ts'
import type { Step } from '../steps.ts'

/** Throws `proxy_authentication_required` without credentials. The target is parsed for known callers only. */
export const acceptConnect: Step<Arrived, Accepted> = ({ head, hasBody }, { gateway }) => {
  if (gateway.deps.bindings === undefined || single(head, ':method') !== 'CONNECT')
    throw new Error('the forward proxy got something else than a CONNECT')
  return {
    head,
    hasBody,
    since: gateway.deps.steadyClock.now(),
    method: 'CONNECT',
    suffix: { path: '', query: undefined, proxyKeys: [] },
    hasBraces: false,
    key: proxyCredentials(head),
    address: single(head, CLIENT_ADDRESS_HEADER),
    proxyKey: undefined,
    dryRun: false,
    isConsole: false,
    tunnel: undefined,
  }
}
