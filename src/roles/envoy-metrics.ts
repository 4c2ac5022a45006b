import { callSocket } from '../supervisor/socket-call.ts'

/** Envoy's counters that an operator watches first, with their names and help texts in our `/metrics`. */
const SHOWN: Readonly<Record<string, readonly [name: string, help: string]>> = {
  'http.edge.downstream_rq_total': ['sidevault_envoy_requests', 'Requests that reached the edge.'],
  'http.edge.downstream_rq_active': ['sidevault_envoy_requests_active', 'Requests in flight at the edge.'],
  'http.edge.downstream_cx_active': ['sidevault_envoy_connections_active', 'Connections open at the edge.'],
  'http.edge.downstream_rq_4xx': ['sidevault_envoy_answers_4xx', 'Answers of the edge from 400 to 499.'],
  'http.edge.downstream_rq_5xx': ['sidevault_envoy_answers_5xx', 'Answers of the edge from 500 to 599.'],
  'server.memory_allocated': ['sidevault_envoy_memory_bytes', 'Memory that Envoy has allocated.'],
}

const FILTER = encodeURIComponent(`^(${Object.keys(SHOWN).join('|').replaceAll('.', '\\.')})$`)

/** What Envoy counts, in the form of prom-client's JSON. Rejects when Envoy does not answer. */
export const envoyMetrics = async (socketPath: string, signal: AbortSignal): Promise<readonly object[]> => {
  const { status, body } = await callSocket(socketPath, 'GET', `/stats?filter=${FILTER}`, { signal })
  if (status !== 200) throw new Error(`Envoy answered ${status}`)
  return body.split('\n').flatMap((line) => {
    const [stat = '', value] = line.split(': ')
    const shown = SHOWN[stat]
    if (shown === undefined || value === undefined) return []
    const [name, help] = shown
    return [{ name, help, type: 'gauge', aggregator: 'sum', values: [{ value: Number(value), labels: {} }] }]
  })
}
