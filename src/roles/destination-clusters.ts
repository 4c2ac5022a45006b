import { LRUCache } from 'lru-cache'
import { AppError } from '../common/errors.ts'
import { IDENTITY_PREFIX } from '../control-plane/agreement.ts'
import type { DestinationTls } from '../sdk/index.ts'
import { callSocket } from '../supervisor/socket-call.ts'

/** What the supervisor keeps for minutes is asked for again once in this time. */
const KEPT_MS = 60_000
/** What Envoy refused is not asked for again before. */
const REFUSED_MS = 30_000
/** Less than a gateway gives one step. */
const PATIENCE_MS = 5_000
const MOST = 1_000
/** The control plane's status for what Envoy does not take. */
const REFUSED = 422

type Outcome = 'ready' | 'refused' | 'late'

/**
 * The name of Envoy's cluster for certificates, when Envoy has it: within some 100 ms of their first use. Rejects with
 * `unavailable` when it does not come in time, or is refused.
 */
export const createDestinationClusters = (
  socketPath: string,
): ((tls: DestinationTls, tenantId: string) => Promise<string>) => {
  const asked = new LRUCache<string, Promise<Outcome>>({ max: MOST, ttl: KEPT_MS })

  const ask = async (
    name: string,
    owner: string,
    { client, authorities }: DestinationTls,
  ): Promise<Outcome> => {
    const body = {
      owner,
      ...(client === undefined ? {} : { certificate: client.certificate, key: client.key.reveal() }),
      ...(authorities === undefined ? {} : { authorities }),
    }
    const options = { body, timeoutMs: PATIENCE_MS }
    const answer = await callSocket(socketPath, 'PUT', `/identities/${name}`, options).catch(() => undefined)
    const outcome = answer?.status === 200 ? 'ready' : answer?.status === REFUSED ? 'refused' : 'late'
    if (outcome === 'late') asked.delete(name)
    if (outcome === 'refused') asked.set(name, Promise.resolve(outcome), { ttl: REFUSED_MS })
    return outcome
  }

  return async (tls, tenantId) => {
    const name = `${IDENTITY_PREFIX}${tls.id}`
    let asking = asked.get(name)
    if (asking === undefined) {
      asking = ask(name, tenantId, tls)
      asked.set(name, asking)
    }
    if ((await asking) === 'ready') return name
    throw new AppError(
      'unavailable',
      "The proxy's certificates could not be made ready, and nothing was forwarded. Retry; if that does not help, ask the operator.",
    )
  }
}
