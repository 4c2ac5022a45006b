import type { Check } from '../admin/ops/health.ts'
import type { MetricSource } from '../admin/ops/metrics.ts'
import { systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { Config } from '../config.ts'
import { envoyIsLive } from '../supervisor/envoy.ts'
import { type ProcessStart, socketsIn } from '../supervisor/messages.ts'
import { callSocket } from '../supervisor/socket-call.ts'
import { checkConfiguration, configurationMetrics } from './configuration.ts'
import { watchEdgeCertificate } from './edge-certificate.ts'
import { envoyMetrics } from './envoy-metrics.ts'
import type { Foundation } from './foundation.ts'

/** What one process asks, on behalf of all processes of its machine, for `/readyz` and `/metrics`. */
export interface Machine {
  readonly checks: Readonly<Record<string, Check>>
  readonly sources: readonly MetricSource[]
  take(config: Config): void
}

/** The parts that a process stands on. */
const ownParts = (
  { store, keys, journal, kernel, upkeep, codeHost, state }: Foundation,
  config: Config,
): Record<string, Check> => ({
  store: () => store.health(),
  keys: async () => keys.mac('audit', ''),
  journal: () => journal.health(),
  audit: () => upkeep.health(),
  disk: () => upkeep.disk(),
  records: () => kernel.records(),
  sandbox: () => codeHost.sandbox.health(),
  ...(config.redisUrl === undefined
    ? {}
    : { redis: async () => (state.reach === 'shared' ? 'ok' : 'degraded') }),
})

/** Envoy, the gateways beside this process, and its own parts. */
export const machineOf = (foundation: Foundation, config: Config, start: ProcessStart, log: Log): Machine => {
  const sockets = socketsIn(start.runDir, config.workers)
  const { registry } = foundation.metrics
  const certificate = watchEdgeCertificate(config.tls?.certificate, { registry, log, clock: systemClock })
  const checks: Record<string, Check> = {
    ...ownParts(foundation, config),
    envoy: async () => {
      if (!(await envoyIsLive(sockets.envoyAdmin))) throw new Error('Envoy is not live')
    },
    configuration: (signal) => checkConfiguration(sockets.control, signal),
    ...(config.tls === undefined ? {} : { certificate: () => certificate.health() }),
  }
  const sources: MetricSource[] = [
    { name: 'envoy', metrics: (signal) => envoyMetrics(sockets.envoyAdmin, signal) },
    { name: 'supervisor', metrics: (signal) => configurationMetrics(sockets.control, signal) },
  ]
  for (const [worker, socket] of sockets.status.entries()) {
    const itself = start.kind === 'gateway' && worker === start.worker
    if (itself || start.role === 'admin') continue
    const name = `gateway-${worker}`
    for (const [part, path] of [
      [name, '/healthz'],
      [`${name}-sandbox`, '/healthz/sandbox'],
      [`${name}-records`, '/healthz/records'],
    ] as const)
      checks[part] = async (signal) => {
        const { status, body } = await callSocket(socket, 'GET', path, { signal })
        if (status !== 200) throw new Error(`${part} answered ${status}`)
        return JSON.parse(body)
      }
    sources.push({
      name,
      metrics: async (signal) =>
        JSON.parse((await callSocket(socket, 'GET', '/metrics.json', { signal })).body),
    })
  }
  return { checks, sources, take: (next) => certificate.take(next.tls?.certificate) }
}
