import { LRUCache } from 'lru-cache'
import { AppError } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { unixHttp } from '../common/unix-http.ts'
import { IDENTITY_PREFIX } from '../ext-proc/contract.ts'
import type { DestinationTls } from '../sdk/index.ts'

/** How long a cluster name is cached. The supervisor retains the clusters for minutes. */
const CACHED_MS = 60_000
/** How long a rejection by Envoy is cached. */
const REJECTED_MS = 30_000
/** Shorter than the timeout of one step of a gateway. */
const TIMEOUT_MS = 5_000
const MAX_CACHED = 1_000
/** The control plane's status for a configuration that Envoy rejects. */
const REJECTED = 422

type Outcome = { readonly cluster: string } | 'rejected' | 'unavailable'

interface DestinationClusters {
  /**
   * The name of Envoy's cluster for these certificates, once Envoy has it: about 100 ms after their first use. Rejects
   * with `gateway_timeout` if Envoy rejects it or does not have it in time.
   */
  clusterOf(tls: DestinationTls, tenantId: string): Promise<string>
  /** Clears the cache: cluster names depend on the settings. */
  clear(): void
}

const clusterIn = (body: string): string => {
  const response: unknown = JSON.parse(body)
  if (isObject(response) && typeof response.cluster === 'string') return response.cluster
  throw new Error('the response of the control plane has no cluster')
}

export const createDestinationClusters = (socketPath: string): DestinationClusters => {
  const outcomes = new LRUCache<string, Promise<Outcome>>({ max: MAX_CACHED, ttl: CACHED_MS })

  const request = async (
    name: string,
    owner: string,
    { client, authorities }: DestinationTls,
  ): Promise<Outcome> => {
    const body = {
      owner,
      ...(client === undefined ? {} : { certificate: client.certificate, key: client.key.reveal() }),
      ...(authorities === undefined ? {} : { authorities }),
    }
    const options = { body, timeoutMs: TIMEOUT_MS }
    const response = await unixHttp(socketPath, 'PUT', `/identities/${name}`, options)
    if (response.status === 200) return { cluster: clusterIn(response.body) }
    return response.status === REJECTED ? 'rejected' : 'unavailable'
  }

  const ask = (name: string, tenantId: string, tls: DestinationTls): Promise<Outcome> => {
    const asking = request(name, tenantId, tls)
      .catch((): Outcome => 'unavailable')
      .then((outcome) => {
        if (outcomes.get(name) !== asking) return outcome
        if (outcome === 'unavailable') outcomes.delete(name)
        if (outcome === 'rejected') outcomes.set(name, asking, { ttl: REJECTED_MS })
        return outcome
      })
    outcomes.set(name, asking)
    return asking
  }

  return {
    clusterOf: async (tls, tenantId) => {
      const name = `${IDENTITY_PREFIX}${tls.id}`
      const outcome = await (outcomes.get(name) ?? ask(name, tenantId, tls))
      if (typeof outcome === 'object') return outcome.cluster
      throw new AppError(
        'gateway_timeout',
        "The proxy's certificates could not be loaded, and nothing was forwarded. Retry. If it persists, ask the operator.",
      )
    },
    clear: () => outcomes.clear(),
  }
}
