import { LRUCache } from 'lru-cache'
import { AppError } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { unixHttp } from '../common/unix-http.ts'
import { IDENTITY_PREFIX } from '../ext-proc/contract.ts'
import type { DestinationTls } from '../sdk/index.ts'

/** What the supervisor keeps for minutes is asked for again once in this time. */
const RETAINED_MS = 60_000
/** What Envoy refused is not asked for again before. */
const REJECTED_MS = 30_000
/** Less than a gateway gives one step. */
const TIMEOUT_MS = 5_000
const MOST = 1_000
/** The control plane's status for what Envoy does not take. */
const REJECTED = 422

type Outcome = { readonly cluster: string } | 'refused' | 'late'

export interface DestinationClusters {
  /**
   * The name of Envoy's cluster for certificates, when Envoy has it: within some 100 ms of their first use. Rejects with
   * `gateway_timeout` when it does not come in time, or is refused.
   */
  clusterOf(tls: DestinationTls, tenantId: string): Promise<string>
  /** With other settings the clusters have other names. */
  forget(): void
}

const clusterIn = (body: string): string => {
  const response: unknown = JSON.parse(body)
  if (isObject(response) && typeof response.cluster === 'string') return response.cluster
  throw new Error('the control plane named no cluster')
}

export const createDestinationClusters = (socketPath: string): DestinationClusters => {
  const asked = new LRUCache<string, Promise<Outcome>>({ max: MOST, ttl: RETAINED_MS })

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
    return response.status === REJECTED ? 'refused' : 'late'
  }

  const ask = (name: string, tenantId: string, tls: DestinationTls): Promise<Outcome> => {
    const asking = request(name, tenantId, tls)
      .catch((): Outcome => 'late')
      .then((outcome) => {
        if (asked.get(name) !== asking) return outcome
        if (outcome === 'late') asked.delete(name)
        if (outcome === 'refused') asked.set(name, asking, { ttl: REJECTED_MS })
        return outcome
      })
    asked.set(name, asking)
    return asking
  }

  return {
    clusterOf: async (tls, tenantId) => {
      const name = `${IDENTITY_PREFIX}${tls.id}`
      const outcome = await (asked.get(name) ?? ask(name, tenantId, tls))
      if (typeof outcome === 'object') return outcome.cluster
      throw new AppError(
        'gateway_timeout',
        "The proxy's certificates could not be made ready, and nothing was forwarded. Retry; if that does not help, ask the operator.",
      )
    },
    forget: () => asked.clear(),
  }
}
