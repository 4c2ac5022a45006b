import type { Metrics } from '../common/metrics.ts'
import { serveSocket } from '../common/serve-socket.ts'

/** Path of the calls that are retained; the query is a `RequestQuery`. */
export const REQUESTS = '/requests.json?'

/** Path of the counts by destination; the query is a tenant's id. */
export const DESTINATIONS = '/destinations.json?'

interface StatusServerDeps {
  readonly metrics: Metrics
  /** Rejects when the process cannot do its work. */
  readonly health: () => Promise<void>
  /** Parts that are asked by themselves; what they resolve with is added to the response. */
  readonly parts?: Readonly<Record<string, () => Promise<object>>>
}

/**
 * A process's own page on a unix socket, for the admin process to collect: `GET /metrics.json` (the JSON of the
 * Prometheus client, an array of metrics), `GET /requests.json?<query as JSON>` (calls), `GET
 * /destinations.json?<tenant id>` (where its values went), `GET /healthz` and, for a part, `GET /healthz/<part>` (200
 * `{ "status": "ok" }` or `"degraded"`, or 503). Resolves when it listens.
 */
export const startStatusServer = async (
  deps: StatusServerDeps,
  socketPath: string,
): Promise<{ close(): Promise<void> }> => {
  const parts = new Map(Object.entries(deps.parts ?? {}).map(([name, check]) => [`/healthz/${name}`, check]))
  const { metrics } = deps
  const handle = async (url: string | undefined): Promise<readonly [number, unknown]> => {
    if (url === '/metrics.json') return [200, await metrics.registry.getMetricsAsJSON()]
    if (url?.startsWith(REQUESTS))
      return [200, metrics.recent.list(JSON.parse(decodeURIComponent(url.slice(REQUESTS.length))))]
    if (url?.startsWith(DESTINATIONS))
      return [200, metrics.destinations.of(decodeURIComponent(url.slice(DESTINATIONS.length)))]
    const check = url === '/healthz' ? deps.health : parts.get(url ?? '')
    if (check === undefined) return [404, { status: 'unknown' }]
    return check().then(
      (more) => [200, { status: 'ok', ...more }] as const,
      () => [503, { status: 'failed' }] as const,
    )
  }
  return serveSocket(socketPath, async (request, response) => {
    const [status, body] =
      request.method === 'GET'
        ? await handle(request.url).catch(() => [500, { status: 'failed' }] as const)
        : ([405, { status: 'unknown' }] as const)
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify(body))
  })
}
