/** Hosts that the forward proxy opens for a caller, and what binds them (completions §15). */
import { type Eventual, whenReady } from '../common/eventual.ts'
import { withoutBrackets } from '../egress/address.ts'
import { holdsHost } from '../egress/host-pattern.ts'
import { BODY_ONLY } from '../egress/surfaces.ts'
import type { ProxyDirectory } from '../kernel/types.ts'
import type { Caller, StoredProxy, Surface, Tenants } from '../sdk/index.ts'
import { behindPrefix, liesBelow } from './path-prefix.ts'

/** A stored proxy that intercepts a request. */
interface InterceptedBy {
  readonly proxy: StoredProxy
  /** The path behind the proxy's prefix, as sent, without the query: '' or with a leading slash. */
  readonly rest: string
}

/** The caller's destinations bind the request, or it is for the rest of a stored proxy's host. */
interface EvaluatedAt {
  readonly surfaces: readonly Surface[]
}

export interface Bindings {
  /**
   * The decision about `CONNECT host:port`. `open`: bound, and Envoy opens it with our certificate. `tunnel`: passed on
   * unopened, to an address that the caller of this function resolves and checks. `host` is normalized: lower case, no
   * final dot.
   */
  connect(caller: Caller, host: string, port: number): Eventual<'open' | 'tunnel' | 'deny'>
  /**
   * The binding of a request in a tunnel; `path` is as sent, `{{` in the place of each expression. Undefined: denied,
   * since nothing binds its host (any more). `ambiguous`: denied, since servers may read its path as one below another
   * proxy's prefix.
   */
  request(
    caller: Caller,
    host: string,
    port: number,
    path: string,
  ): Eventual<InterceptedBy | EvaluatedAt | 'ambiguous' | undefined>
}

interface BindingsDeps {
  readonly proxies: Pick<ProxyDirectory, 'intercepting'>
  readonly tenants: Tenants
  /** Ports of destinations (`SIDEVAULT_EGRESS_PORTS`). */
  readonly ports: () => readonly number[] | '*'
  /** Settles when Envoy opens a bound host, at the latest after a time limit. */
  readonly whenOpened: (host: string) => Eventual<void>
}

const HTTPS = 443

/** The paths of a stored proxy's host that no prefix holds. */
const REST_OF_HOST: EvaluatedAt = Object.freeze({ surfaces: BODY_ONLY })

/** The longest prefix wins. Undefined when none holds the path; null when one may. */
const longestOf = (proxies: readonly StoredProxy[], path: string): InterceptedBy | null | undefined => {
  let longest: { readonly proxy: StoredProxy; readonly prefix: string } | undefined
  for (const proxy of proxies) {
    const { path: prefix = '' } = proxy.intercept ?? {}
    const below = liesBelow(prefix, path)
    if (below === 'maybe') return null
    if (below === 'yes' && prefix.length >= (longest?.prefix.length ?? 0)) longest = { proxy, prefix }
  }
  return longest && { proxy: longest.proxy, rest: behindPrefix(longest.prefix, path) }
}

/** The surfaces of all destinations of an application and its rules; undefined: none of them binds host and port. */
const evaluatedAt = (
  { grants: { destinations = [], rules } }: Caller,
  host: string,
  port: number,
): EvaluatedAt | undefined => {
  const lists = [...destinations, ...rules.map((rule) => rule.destinations ?? [])]
  const bound = lists.flat().filter((entry) => entry.ports.includes(port) && holdsHost(entry.host, host))
  if (bound.length === 0) return undefined
  return { surfaces: [...new Set(bound.flatMap(({ surfaces }) => surfaces ?? BODY_ONLY))] }
}

export const createBindings = ({ proxies, tenants, ports, whenOpened }: BindingsDeps): Bindings => {
  const interceptedAt = ({ tenantId }: Caller, host: string, port: number) =>
    whenReady(proxies.intercepting(tenantId, withoutBrackets(host)), (candidates) =>
      candidates.filter(({ intercept }) => intercept?.port === port),
    )

  const unbound = async ({ tenantId }: Caller, port: number): Promise<'tunnel' | 'deny'> => {
    const allowed = ports()
    if (allowed !== '*' && port !== HTTPS && !allowed.includes(port)) return 'deny'
    const tenant = await tenants.get(tenantId)
    return tenant?.settings.unbound_destinations === 'tunnel' ? 'tunnel' : 'deny'
  }

  return {
    connect: (caller, host, port) =>
      whenReady(interceptedAt(caller, host, port), (intercepting) =>
        intercepting.length > 0 || evaluatedAt(caller, host, port) !== undefined
          ? whenReady(whenOpened(host), () => 'open')
          : unbound(caller, port),
      ),
    request: (caller, host, port, path) =>
      whenReady(interceptedAt(caller, host, port), (intercepting) => {
        const bound = longestOf(intercepting, path.split('?', 1)[0] as string)
        if (bound === null) return 'ambiguous'
        return (
          bound ?? evaluatedAt(caller, host, port) ?? (intercepting.length > 0 ? REST_OF_HOST : undefined)
        )
      }),
  }
}
