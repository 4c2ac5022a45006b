/** Validates the headers of a request inside a tunnel of the forward proxy (completions §15). */
import { AppError } from '../../common/errors.ts'
import { parseSuffix } from '../../egress/parse-url.ts'
import { ATTRIBUTES } from '../../ext-proc/contract.ts'
import { authorityOf, normalizedAuthority, tunnelOf } from '../forward/tunnel.ts'
import { checkHead, methodOf, single } from '../headers.ts'
import type { Accepted, Arrived } from '../request.ts'
import type { Step } from '../steps.ts'

/** CONNECT would nest tunnels; TRACE would show what the destination got. */
const NOT_ALLOWED = ['CONNECT', 'TRACE']

export const misdirected = () =>
  new AppError(
    'misdirected',
    'The request is for another host than its tunnel. Open a tunnel for each host and port.',
  )

/**
 * Throws the error of the first check that the headers do not pass; `misdirected` for another host than the tunnel's.
 */
export const acceptTunneled: Step<Arrived, Accepted> = ({ head, hasBody }, { gateway, origin }) => {
  const since = gateway.deps.steadyClock.now()
  const method = methodOf(head)
  if (NOT_ALLOWED.includes(method))
    throw new AppError(
      'method_not_allowed',
      `${method} is not allowed inside a tunnel. Send the request itself.`,
      { allow: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] },
    )
  const hasBraces = checkHead(head)
  if (origin === undefined) throw new Error('a request inside a tunnel has no origin')
  const tunnel = tunnelOf(origin)
  const authority = normalizedAuthority(single(head, ':authority') ?? '')
  const serverName = origin.attributes.get(ATTRIBUTES.serverName)?.toLowerCase()
  if (serverName !== tunnel.host || authority !== authorityOf(tunnel)) throw misdirected()
  const suffix = parseSuffix(single(head, ':path') ?? '', [], 0)
  return {
    head,
    hasBody,
    since,
    method,
    suffix,
    hasBraces,
    key: tunnel.key,
    address: tunnel.address,
    proxyKey: undefined,
    dryRun: false,
    isConsole: false,
    tunnel: { ...tunnel, path: suffix.path },
  }
}
