import { getUnixJson } from '../common/unix-http.ts'
import type { TypeStatus } from './discovery.ts'

/** Envoy applies a change in some 50 ms; a killed one restarts within this time. */
const APPLY_TIMEOUT_MS = 10_000

const statusOf = (socketPath: string, signal: AbortSignal): Promise<readonly TypeStatus[]> =>
  getUnixJson(socketPath, '/status', { signal })

/** Rejects when Envoy has not acknowledged a version within the timeout. */
export const checkEnvoyConfig = async (socketPath: string, signal: AbortSignal): Promise<void> => {
  const overdue = (await statusOf(socketPath, signal)).filter(
    ({ acked, ageMs }) => !acked && ageMs > APPLY_TIMEOUT_MS,
  )
  if (overdue.length > 0)
    throw new Error(`Envoy has not acknowledged its ${overdue.map(({ kind }) => kind).join(', ')}`)
}

const SHOWN: readonly (readonly [
  name: string,
  type: string,
  help: string,
  read: (status: TypeStatus) => number,
])[] = [
  [
    'sidevault_envoy_config_version',
    'gauge',
    'Version of the configuration offered to Envoy, by resource type.',
    ({ version }) => Number.parseInt(version, 10),
  ],
  [
    'sidevault_envoy_config_age_seconds',
    'gauge',
    'Time since this version was made.',
    ({ ageMs }) => ageMs / 1000,
  ],
  [
    'sidevault_envoy_config_acked',
    'gauge',
    '1 when Envoy has applied this version.',
    ({ acked }) => Number(acked),
  ],
  [
    'sidevault_envoy_config_nacks_total',
    'counter',
    'Versions that Envoy rejected.',
    ({ nacked: nacks }) => nacks,
  ],
]

/** Offered and acknowledged versions, as JSON of the Prometheus client. */
export const envoyConfigMetrics = async (
  socketPath: string,
  signal: AbortSignal,
): Promise<readonly object[]> => {
  const all = await statusOf(socketPath, signal)
  return SHOWN.map(([name, type, help, read]) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: all.map((status) => ({ value: read(status), labels: { kind: status.kind } })),
  }))
}
