/**
 * Connections of outbound requests for tenants. Each tenant has its own connections, and a share of all connections
 * and requests.
 */
import { LRUCache } from 'lru-cache'
import { Agent, type buildConnector } from 'undici'
import { AppError } from '../common/errors.ts'
import { createShares } from '../common/shares.ts'
import type { Addresses } from './addresses.ts'
import { createConnect } from './connect.ts'

interface AgentsOptions {
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Timeout until the response starts, and between its chunks, ms. */
  readonly timeoutMs: number
  /** Maximum idle time of a connection, ms, also when the destination's `Keep-Alive` header allows more. */
  readonly idleMs?: number
}

interface Agents {
  /**
   * Runs one request of a tenant over its connections. Rejects with `rate_limited` if the tenant has used its share of
   * requests, connections or lookups.
   */
  use<T>(tenantId: string, work: (agent: Agent) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
const IDLE_MS = 4_000
const HEADER_BYTES = 64 * 1024
/** Maximum connections of a tenant to one origin. Further requests wait. */
const CONNECTIONS = 32
/** Maximum concurrent requests, open connections (idle ones too) and lookups of all tenants; tenants with a pool. */
const REQUESTS = 1_024
const SOCKETS = 1_024
const LOOKUPS = 256
const TENANTS = 256

export const createAgents = (
  addresses: Addresses,
  { trust, timeoutMs, idleMs = IDLE_MS }: AgentsOptions,
): Agents => {
  const connect = createConnect({ trust, timeoutMs: CONNECT_MS })
  const requests = createShares(
    REQUESTS,
    'Code of this tenant makes too many concurrent requests. Retry later.',
  )
  const sockets = createShares(
    SOCKETS,
    'Code of this tenant has too many open connections. Retry later, or call fewer hosts.',
  )
  const lookups = createShares(
    LOOKUPS,
    'Code of this tenant makes too many concurrent DNS lookups. Retry later.',
  )

  const connectorOf = (tenantId: string): buildConnector.connector => {
    const dial = connect(async (hostname, port) => {
      const lookup = lookups.take(1, tenantId)
      try {
        return await addresses(hostname, port)
      } finally {
        lookup.release()
      }
    })
    const claim = async () => sockets.take(1, tenantId)
    return (target, callback) => {
      claim().then(
        (share) =>
          dial(target, (...result) => {
            // undici passes no second argument with an error
            if (result[0] !== null) share.release()
            else result[1].once('close', () => share.release())
            callback(...result)
          }),
        (thrown: unknown) => callback(AppError.from(thrown), null),
      )
    }
  }

  const agentOf = (tenantId: string): Agent =>
    new Agent({
      connect: connectorOf(tenantId),
      connections: CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: HEADER_BYTES,
    })

  const agents = new LRUCache<string, Agent>({
    max: TENANTS,
    dispose: (agent, _tenant, reason) => {
      if (reason === 'evict') agent.close().catch(() => {})
    },
  })

  return {
    async use(tenantId, work) {
      const request = requests.take(1, tenantId)
      try {
        const agent = agents.get(tenantId) ?? agentOf(tenantId)
        agents.set(tenantId, agent)
        return await work(agent)
      } finally {
        request.release()
      }
    },
    close: async () => {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()))
    },
  }
}
