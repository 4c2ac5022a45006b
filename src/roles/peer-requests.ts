import type { DestinationCounts } from '../common/destination-counts.ts'
import type { Log } from '../common/log.ts'
import type { RecentRequest } from '../common/request-ring.ts'
import { getUnixJson } from '../common/unix-http.ts'
import { DESTINATIONS, REQUESTS } from '../gateway/status-server.ts'
import type { Peers } from '../kernel/types.ts'

/** Calls of this node's gateways, which have the status sockets. One that does not respond has none. */
export const createPeerRequests = (sockets: readonly string[], log: Log): Peers => {
  const all = async <Response>(path: string): Promise<readonly Response[]> => {
    const replies = await Promise.all(
      sockets.map(async (socket): Promise<readonly Response[]> => {
        try {
          return [await getUnixJson<Response>(socket, path)]
        } catch (err) {
          log.warn({ err }, 'gateway did not respond; its recent calls are missing from a response')
          return []
        }
      }),
    )
    return replies.flat(1) as readonly Response[]
  }
  return {
    requests: async (query) => {
      const lists = await all<readonly RecentRequest[]>(
        `${REQUESTS}${encodeURIComponent(JSON.stringify(query))}`,
      )
      return lists.flat()
    },
    destinations: (tenantId) => all<DestinationCounts>(`${DESTINATIONS}${encodeURIComponent(tenantId)}`),
  }
}
