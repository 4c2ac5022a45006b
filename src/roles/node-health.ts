import type { Check } from '../admin/ops/health.ts'
import type { MetricSource } from '../admin/ops/metrics.ts'
import { systemClock } from '../common/clock.ts'
import { AppError, codeOf } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import { getUnixJson, unixHttp } from '../common/unix-http.ts'
import { TimeoutError, withTimeout } from '../common/with-timeout.ts'
import type { Config } from '../config.ts'
import { checkEnvoyConfig, envoyConfigMetrics } from '../control-plane/config-status.ts'
import { envoyIsLive } from '../supervisor/envoy.ts'
import { type FailedComponent, type ProcessStart, socketsIn } from '../supervisor/messages.ts'
import { edgeCertificate, forwardAuthority, watchCertificates } from './certificate-expiry.ts'
import { envoyMetrics } from './envoy-metrics.ts'
import { openAuthority } from './forward-authority.ts'
import { describeNode } from './node-info.ts'
import type { Runtime } from './runtime.ts'

/** Checks and metric sources of all processes of a machine, for `/readyz` and `/metrics`. */
interface NodeHealth {
  readonly checks: Readonly<Record<string, Check>>
  readonly sources: readonly MetricSource[]
  reload(config: Config): void
}

/** Timeout of a check, ms. */
const CHECK_MS = 2_000

/** The sentence of an error of our own, else its code: the message of another error may quote data. */
const reasonOf = (error: unknown): string | undefined =>
  error instanceof AppError || error instanceof TimeoutError ? error.message : codeOf(error) || undefined

/** The components that fail now, with the reason if it is known. */
export const failedComponents = async (
  checks: Readonly<Record<string, Check>>,
): Promise<readonly FailedComponent[]> => {
  const checkOne = async ([name, check]: readonly [string, Check]): Promise<readonly FailedComponent[]> => {
    try {
      await withTimeout(CHECK_MS, check)
      return []
    } catch (error) {
      const reason = reasonOf(error)
      return [{ name, ...(reason === undefined ? {} : { reason }) }]
    }
  }
  return (await Promise.all(Object.entries(checks).map(checkOne))).flat()
}

/** Checks of this process's own parts. */
const ownParts = (
  { store, keys, journal, kernel, maintenance, hostApi, state }: Runtime,
  config: Config,
): Record<string, Check> => ({
  store: () => store.health(),
  keys: () => keys.health(),
  journal: () => journal.health(),
  audit: () => maintenance.health(),
  disk: () => maintenance.disk(),
  records: () => kernel.records(),
  sandbox: () => hostApi.sandbox.health(),
  ...(config.redisUrl === undefined
    ? {}
    : { redis: async () => (state.backend === 'shared' ? 'ok' : 'degraded') }),
})

/** Checks and metrics of Envoy, of the machine's gateways, and of this process. */
export const nodeHealth = (runtime: Runtime, config: Config, start: ProcessStart, log: Log): NodeHealth => {
  const sockets = socketsIn(start.runDir, config.workers)
  const { registry } = runtime.metrics
  describeNode(runtime)
  let edgeFile = config.tls?.certificate
  const certificates = watchCertificates(
    {
      ...(config.tls && { edge_certificate: edgeCertificate(() => edgeFile) }),
      ...(config.forwardListen && { forward_ca: forwardAuthority(openAuthority(config, runtime)) }),
    },
    { registry, log, clock: systemClock },
  )
  const checks: Record<string, Check> = {
    ...ownParts(runtime, config),
    ...(start.edge
      ? {
          envoy: async () => {
            if (!(await envoyIsLive(sockets.envoyAdmin)))
              throw new AppError('overloaded', 'Envoy is not live')
          },
          envoy_config: (signal: AbortSignal) => checkEnvoyConfig(sockets.control, signal),
        }
      : {}),
    ...certificates,
  }
  const sources: MetricSource[] = start.edge
    ? [
        { name: 'envoy', metrics: (signal) => envoyMetrics(sockets.envoyAdmin, signal) },
        { name: 'supervisor', metrics: (signal) => envoyConfigMetrics(sockets.control, signal) },
      ]
    : []
  const ofChecks = runtime.health.filter(({ kind }) => kind === 'check').map(({ component }) => component)
  for (const [worker, socket] of sockets.status.entries()) {
    const itself = start.kind === 'gateway' && worker === start.worker
    if (itself || start.role === 'admin') continue
    const name = `gateway-${worker}`
    for (const [part, path] of [
      [name, '/healthz'],
      [`${name}-sandbox`, '/healthz/sandbox'],
      [`${name}-records`, '/healthz/records'],
      ...ofChecks.map((component) => [`${name}-${component}`, `/healthz/${component}`] as const),
    ] as const)
      checks[part] = async (signal) => {
        const { status, body } = await unixHttp(socket, 'GET', path, { signal })
        if (status !== 200) throw new AppError('overloaded', `It responded with status ${status}`)
        return JSON.parse(body)
      }
    sources.push({
      name,
      metrics: (signal) => getUnixJson(socket, '/metrics.json', { signal }),
    })
  }
  return {
    checks,
    sources,
    reload: (next) => {
      edgeFile = next.tls?.certificate
    },
  }
}
