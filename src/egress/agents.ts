/** Connections of requests that this process makes for tenants: each tenant has its own, and a share of what all have. */
import { LRUCache } from 'lru-cache'
import { Agent } from 'undici'
import { createShares } from '../common/shares.ts'
import type { Addresses } from './addresses.ts'
import { createConnect } from './connect.ts'

export interface AgentsOptions {
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Milliseconds until an answer begins, and between its pieces. */
  readonly timeoutMs: number
}

export interface Agents {
  /** Runs one request of a tenant over its connections. Throws `rate_limited` when the tenant has its share of requests. */
  use<T>(tenantId: string, work: (agent: Agent) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
const HEADER_BYTES = 64 * 1024
/** To one origin, of one tenant: further requests wait. */
const CONNECTIONS = 32
/** Requests of all tenants at once, names that are looked up for them, and tenants whose connections are kept. */
const REQUESTS = 1_024
const LOOKUPS = 256
const TENANTS = 256

export const createAgents = (addresses: Addresses, { trust, timeoutMs }: AgentsOptions): Agents => {
  const connect = createConnect({ trust, timeoutMs: CONNECT_MS })
  const requests = createShares(
    REQUESTS,
    'Code of this tenant makes as many requests as it can. Retry later.',
  )
  const lookups = createShares(LOOKUPS, 'Code of this tenant looks up as many names as it can. Retry later.')

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
