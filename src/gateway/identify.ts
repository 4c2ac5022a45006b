/** Who calls the proxy, and through which stored proxy (interface, "Ephemeral proxy", "Pre-configured proxies"). */

import { authorize } from '../access/authorize.ts'
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { CLIENT_ADDRESS_HEADER, type RateLimiter } from '../common/rate-limiter.ts'
import type { Bindings } from '../forward-proxy/bindings.ts'
import type { Authenticator, ConsoleSecret, Presented, ProxyDirectory } from '../kernel/types.ts'
import type { Caller, StoredProxy, Surface } from '../sdk/index.ts'
import type { Tunnel } from './forward/tunnel.ts'
import { type Head, type HeaderRules, prefixed } from './headers.ts'

export interface Identity {
  readonly caller: Caller
  /** Absent: the request itself says where it goes. */
  readonly proxy: StoredProxy | undefined
  /** True for a dry run (README.md, "Dry runs"). */
  readonly dryRun: boolean
  /** Inside a tunnel that a stored proxy intercepts: the path behind that of its URL. */
  readonly rest?: string
  /** Inside a tunnel that destinations bind: the surfaces whose expressions are evaluated. */
  readonly surfaces?: readonly Surface[]
}

export interface IdentifyDeps {
  readonly authenticator: Authenticator
  readonly proxies: Pick<ProxyDirectory, 'find'>
  readonly admit: RateLimiter
  /** Absent: there is no forward proxy. */
  readonly bindings?: Bindings
}

/** Throws `forbidden` for a caller who may not use the proxy at all. */
export const authorizeProxy = (caller: Caller): void => {
  if (caller.applicationType !== 'private')
    throw new AppError(
      'forbidden',
      'The proxy requires the key of a private application. Use one that holds token:use.',
    )
  authorize(caller, 'token:use')
}

const unknownProxy = () =>
  new AppError('proxy_not_found', 'No proxy has this proxy key. Check the key, or create a proxy.')

/** Throws `forbidden` for a caller who may not see the plan of a call. */
const authorizeDryRun = ({ caller, proxy }: Identity): void => {
  if (caller.applicationType === 'private') authorizeProxy(caller)
  else if (caller.applicationType !== 'management')
    throw new AppError('forbidden', 'A dry run requires the key of a private or a management application.')
  else if (proxy !== undefined) authorize(caller, 'proxy:read')
}

/** The caller of a proxy that asks for no key. */
const anonymous = ({ tenantId, id }: StoredProxy): Caller => ({
  tenantId,
  actorId: id,
  actorType: 'anonymous',
  grants: { permissions: [], rules: [] },
})

/** Who shares what is limited (common/shares.ts): a tenant's anonymous callers leave room for those that it knows. */
export const ownerOf = ({ tenantId, actorType }: Caller): string =>
  actorType === 'anonymous' ? `${tenantId} anonymous` : tenantId

/** The parts of a request that identify its caller. */
export interface CallHead {
  readonly head: Head
  readonly proxyKey: string | undefined
  readonly dryRun: boolean
  /** Session of a console call, which replaces the API key. */
  readonly session?: ConsoleSecret | undefined
  /** The tunnel that it is inside of, and its path: both decide, and no header. */
  readonly tunnel?: Tunnel & { readonly path: string }
}

const unbound = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `The host "${host}" is no longer bound for this application. Bind it with "intercept" of a stored proxy, or with "destinations".`,
  )

const ambiguousPath = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `Servers may read the path of this request in several ways, so the stored proxy of "${host}" that intercepts it is unclear. Send the normalized path: without empty segments, and without expressions or special encodings in the segments of a proxy's prefix.`,
  )

/** The caller of a tunnel as it is now, and what binds its host. */
const authenticateTunneled = (
  { authenticator, bindings }: IdentifyDeps,
  { key, host, port, path }: NonNullable<CallHead['tunnel']>,
  seen?: (identity: Identity) => void,
): Eventual<Identity> => {
  if (bindings === undefined) throw new Error('a tunnel without the forward proxy')
  return whenReady(authenticator.authenticate(key), (caller) => {
    seen?.({ caller, proxy: undefined, dryRun: false })
    authorizeProxy(caller)
    return whenReady(bindings.request(caller, host, port, path), (bound) => {
      if (bound === undefined) throw unbound(host)
      if (bound === 'ambiguous') throw ambiguousPath(host)
      const identity = { caller, proxy: undefined, dryRun: false, ...bound }
      seen?.(identity)
      return identity
    })
  })
}

const keyOf = ({ head, tunnel, session }: CallHead, prefixes: HeaderRules): Presented =>
  tunnel === undefined ? (session ?? prefixed(head, prefixes, 'apiKey')) : tunnel.key

/** The caller and its proxy, without a rate limit. `seen` gets them as soon as they are known. */
const authenticate = (
  deps: IdentifyDeps,
  key: Presented,
  { proxyKey, dryRun, tunnel }: CallHead,
  seen?: (identity: Identity) => void,
): Eventual<Identity> => {
  if (tunnel !== undefined) return authenticateTunneled(deps, tunnel, seen)
  const { authenticator, proxies } = deps
  const withProxy = (proxy: StoredProxy | undefined): Eventual<Identity> => {
    if (proxyKey !== undefined && proxy === undefined) throw unknownProxy()
    if (proxy?.requireAuth === false && (key === undefined || !dryRun)) {
      const identity = { caller: anonymous(proxy), proxy, dryRun }
      seen?.(identity)
      if (dryRun) authorizeDryRun(identity)
      return identity
    }
    return whenReady(authenticator.authenticate(key, 'token:use'), (caller) => {
      if (proxy !== undefined && proxy.tenantId !== caller.tenantId) throw unknownProxy()
      const identity = { caller, proxy, dryRun }
      seen?.(identity)
      if (dryRun) authorizeDryRun(identity)
      else authorizeProxy(caller)
      return identity
    })
  }
  return whenReady(proxyKey === undefined ? undefined : proxies.find(proxyKey), withProxy)
}

/**
 * Finds the caller of a request, and its stored proxy when it has a proxy key. `seen` gets them as soon as they are
 * known, also when the call is then denied. Fails with `unauthenticated`, `forbidden`, `rate_limited`, and `proxy_not_found`
 * for a proxy key that is unknown or another tenant's.
 */
export const identify = (
  deps: IdentifyDeps,
  prefixes: HeaderRules,
  request: CallHead,
  seen: (identity: Identity) => void,
): Eventual<Identity> => {
  const { head, tunnel } = request
  const key = keyOf(request, prefixes)
  const address = tunnel === undefined ? head.get(CLIENT_ADDRESS_HEADER)?.[0] : tunnel.address
  const identified = () => authenticate(deps, key, request, seen)
  if (typeof key !== 'object') return whenReady(deps.admit({ key, address }), identified)
  return whenReady(deps.admit({ key: undefined, address }), () =>
    whenReady(deps.authenticator.authenticate(key, 'token:use'), ({ keyId }) =>
      whenReady(deps.admit({ key: undefined, keyId, address: undefined }), identified),
    ),
  )
}

/** Authenticates an accepted request again; fails with `unauthenticated` when its key was deleted since. No rate limit applies. */
export const reauthenticate = (
  deps: IdentifyDeps,
  prefixes: HeaderRules,
  request: CallHead,
): Eventual<Identity> => authenticate(deps, keyOf(request, prefixes), request)

/** Body duration, ms, after which the caller is authenticated again: a change is effective in all processes by then. */
const REAUTHENTICATE_AFTER_MS = 1_000

/**
 * The current caller of a request that was accepted `ms` ago: identified again when that is long. The proxy stays the one
 * that was called then, because its destination and its code belong together.
 */
export const refreshCaller = (
  deps: IdentifyDeps,
  prefixes: HeaderRules,
  { caller, request }: { readonly caller: Caller; readonly request: CallHead },
  ms: number,
): Eventual<Caller> =>
  ms <= REAUTHENTICATE_AFTER_MS
    ? caller
    : whenReady(reauthenticate(deps, prefixes, request), (identity) => identity.caller)
