import { unixHttp } from '../common/unix-http.ts'

interface Shown {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Label and stat of each sample. */
  readonly samples: readonly (readonly [labels: Readonly<Record<string, string>>, stat: string])[]
}

/** The metrics of Envoy that `/metrics` has, with their names and help texts there. */
const SHOWN: readonly Shown[] = [
  {
    name: 'sidevault_envoy_requests_total',
    type: 'counter',
    help: 'Requests that reached the edge.',
    samples: [[{}, 'http.edge.downstream_rq_total']],
  },
  {
    name: 'sidevault_envoy_responses_total',
    type: 'counter',
    help: 'Responses of the edge, including those of destinations, by status class.',
    samples: ['2xx', '3xx', '4xx', '5xx'].map((status) => [{ status }, `http.edge.downstream_rq_${status}`]),
  },
  {
    name: 'sidevault_envoy_requests_active',
    type: 'gauge',
    help: 'Requests in flight at the edge.',
    samples: [[{}, 'http.edge.downstream_rq_active']],
  },
  {
    name: 'sidevault_envoy_connections_active',
    type: 'gauge',
    help: 'Connections open at the edge.',
    samples: [[{}, 'http.edge.downstream_cx_active']],
  },
  {
    name: 'sidevault_envoy_tunnels_active',
    type: 'gauge',
    help: 'Open tunnels of the forward proxy.',
    samples: [[{}, 'http.forward_outer.downstream_rq_active']],
  },
  {
    name: 'sidevault_envoy_tunnel_handshakes_failed_total',
    type: 'counter',
    help: 'Tunnels closed after the 200: the server name is missing or bound by no tenant, or TLS failed.',
    samples: [
      [{ reason: 'server_name' }, 'listener.forward_tls.no_filter_chain_match'],
      [{ reason: 'tls' }, 'listener.forward_tls.ssl.connection_error'],
    ],
  },
  {
    name: 'sidevault_envoy_memory_bytes',
    type: 'gauge',
    help: 'Memory that Envoy has allocated.',
    samples: [[{}, 'server.memory_allocated']],
  },
]

const STATS = SHOWN.flatMap(({ samples }) => samples.map(([, stat]) => stat))
const FILTER = encodeURIComponent(`^(${STATS.join('|').replaceAll('.', '\\.')})$`)

/** Envoy's metrics as JSON of the Prometheus client. Rejects if Envoy does not respond. */
export const envoyMetrics = async (socketPath: string, signal: AbortSignal): Promise<readonly object[]> => {
  const { status, body } = await unixHttp(socketPath, 'GET', `/stats?filter=${FILTER}`, { signal })
  if (status !== 200) throw new Error(`Envoy responded with status ${status}`)
  const stats = new Map(body.split('\n').map((line) => line.split(': ') as [string, string]))
  return SHOWN.map(({ name, type, help, samples }) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: samples.flatMap(([labels, stat]) => {
      const value = stats.get(stat)
      return value === undefined ? [] : [{ value: Number(value), labels }]
    }),
  }))
}
