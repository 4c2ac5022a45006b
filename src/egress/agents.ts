/** Connections of outbound requests for tenants. Each tenant has its own connections, and a share of the requests. */
import { LRUCache } from 'lru-cache'
import { Agent } from 'undici'
import { createShares } from '../common/shares.ts'
import type { Addresses } from './addresses.ts'
import { createConnect } from './connect.ts'

export interface AgentsOptions {
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Timeout until the response starts, and between its chunks, ms. */
  readonly timeoutMs: number
}

export interface Agents {
  /**
   * Runs one request of a tenant over its connections. Rejects with `rate_limited` if the tenant has used its share.
   */
  use<T>(tenantId: string, work: (agent: Agent) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
const HEADER_BYTES = 64 * 1024
/** Maximum connections of a tenant to one origin. Further requests wait. */
const CONNECTIONS = 32
/** Maximum concurrent requests and lookups of all tenants, and tenants with pooled connections. */
const REQUESTS = 1_024
const LOOKUPS = 256
const TENANTS = 256

export const createAgents = (addresses: Addresses, { trust, timeoutMs }: AgentsOptions): Agents => {
  const connect = createConnect({ trust, timeoutMs: CONNECT_MS })
  const requests = createShares(
    REQUESTS,
    'Code of this tenant makes too many concurrent requests. Retry later.',
  )
  const lookups = createShares(
    LOOKUPS,
    'Code of this tenant makes too many concurrent DNS lookups. Retry later.',
  )

  const agentOf = (tenantId: string): Agent =>
    new Agent({
      connect: connect(async (hostname, port) => {
        const lookup = lookups.take(1, tenantId)
        try {
          return await addresses(hostname, port)
        } finally {
          lookup.release()
        }
      }),
      connections: CONNECTIONS,
      pipelining: 1,
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
