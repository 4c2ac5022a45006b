import { unixHttp } from '../common/unix-http.ts'
import type { TypeStatus } from './discovery.ts'

/** Envoy takes a change in some 50 ms; one that is killed is back in less. */
const APPLY_TIMEOUT_MS = 10_000

const statusOf = async (socketPath: string, signal: AbortSignal): Promise<readonly TypeStatus[]> => {
  const { status, body } = await unixHttp(socketPath, 'GET', '/status', { signal })
  if (status !== 200) throw new Error(`the control plane answered ${status}`)
  return JSON.parse(body)
}

/** Rejects when Envoy has not taken what it was given long ago. */
export const checkEnvoyConfig = async (socketPath: string, signal: AbortSignal): Promise<void> => {
  const late = (await statusOf(socketPath, signal)).filter(
    ({ acked, ageMs }) => !acked && ageMs > APPLY_TIMEOUT_MS,
  )
  if (late.length > 0) throw new Error(`Envoy has not taken its ${late.map(({ kind }) => kind).join(', ')}`)
}

const SHOWN: readonly (readonly [
  name: string,
  type: string,
  help: string,
  of: (status: TypeStatus) => number,
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

/** What Envoy is given and has taken, in the form of prom-client's JSON. */
export const envoyConfigMetrics = async (
  socketPath: string,
  signal: AbortSignal,
): Promise<readonly object[]> => {
  const all = await statusOf(socketPath, signal)
  return SHOWN.map(([name, type, help, of]) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: all.map((status) => ({ value: of(status), labels: { kind: status.kind } })),
  }))
}
