/** Validates the headers of a request to `/proxy` (interface "Ephemeral proxy", completions §7). */
import { CONSOLE_API } from '../../common/console.ts'
import { AppError } from '../../common/errors.ts'
import { CLIENT_ADDRESS_HEADER } from '../../common/rate-limiter.ts'
import { parseSuffix, type Suffix } from '../../egress/parse-url.ts'
import { PROXY_METHODS } from '../../ext-proc/contract.ts'
import { isConsoleRequest, rejectBrowserNavigation, sessionOf } from '../console.ts'
import { checkHead, type Head, type HeaderRules, isFlagSet, methodOf, prefixed, single } from '../headers.ts'
import type { Accepted, Arrived } from '../request.ts'
import type { Step } from '../steps.ts'

/** The path that a call of the console is for. */
const ofProxy = (path: string): string => path.slice(CONSOLE_API.length)

const ON_PROXY = /^\/proxy(?:[/?]|$)/

/**
 * The proxy key, in a header or in the query. Throws `malformed` for several: the author of the URL and its caller may
 * mean different ones.
 */
const proxyKeyOf = (head: Head, { ofPrefixes }: HeaderRules, { proxyKeys }: Suffix): string | undefined => {
  let [key] = proxyKeys
  let isAmbiguous = proxyKeys.length > 1
  for (const names of ofPrefixes) {
    const sent = single(head, names.proxyKey)
    if (sent === undefined) continue
    if (key !== undefined && key !== sent) isAmbiguous = true
    key = sent
  }
  if (isAmbiguous)
    throw new AppError(
      'malformed',
      'The request has several proxy keys. Send one, in a header or in the query.',
    )
  return key
}

/** Throws the error of the first check that the headers do not pass. */
export const accept: Step<Arrived, Accepted> = ({ head, hasBody }, { gateway }) => {
  const { deps, prefixes, hasConsole } = gateway
  const since = deps.steadyClock.now()
  const method = methodOf(head)
  if (!PROXY_METHODS.includes(method))
    throw new AppError('method_not_allowed', 'The proxy takes GET, POST, PUT, PATCH and DELETE.', {
      allow: PROXY_METHODS,
    })
  const hasBraces = checkHead(head)
  const sent = single(head, ':path') ?? ''
  const session = isConsoleRequest(sent) ? sessionOf(head, prefixes) : undefined
  if (hasConsole && session === undefined) rejectBrowserNavigation(head)
  const requested = session === undefined ? sent : ofProxy(sent)
  if (!ON_PROXY.test(requested)) throw new Error('a request off /proxy reached the gateway')
  const suffix = parseSuffix(requested, prefixes.keyParameters)
  return {
    head,
    hasBody,
    since,
    method,
    suffix,
    hasBraces,
    key: session ?? prefixed(head, prefixes, 'apiKey'),
    address: head.get(CLIENT_ADDRESS_HEADER)?.[0],
    proxyKey: proxyKeyOf(head, prefixes, suffix),
    dryRun: isFlagSet(head, prefixes, 'dryRun'),
    isConsole: session !== undefined,
    tunnel: undefined,
  }
}
