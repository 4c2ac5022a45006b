import type { Log } from '../common/log.ts'
import type { ListRequests, RecentRequest } from '../common/request-ring.ts'
import { unixHttp } from '../common/unix-http.ts'
import { REQUESTS } from '../gateway/status-server.ts'

/** The newest calls of this node's gateways. One that does not respond has none. */
export const createPeerRequests =
  (sockets: readonly string[], log: Log): ListRequests =>
  async (query) => {
    const path = `${REQUESTS}${encodeURIComponent(JSON.stringify(query))}`
    const found = await Promise.all(
      sockets.map(async (socket): Promise<readonly RecentRequest[]> => {
        try {
          const { status, body } = await unixHttp(socket, 'GET', path)
          if (status !== 200) throw new Error(`status ${status}`)
          return JSON.parse(body)
        } catch (err) {
          log.warn({ err }, 'the newest calls of a gateway are missing in a list: it does not respond')
          return []
        }
      }),
    )
    return found.flat()
  }
