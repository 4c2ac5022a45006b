import type { Log } from '../common/log.ts'
import type { Config } from '../config.ts'
import { HOSTS, heldBytes } from '../control-plane/limits.ts'
import { createBindings } from '../forward-proxy/bindings.ts'
import { createOpenedHosts } from '../forward-proxy/opened-hosts.ts'
import { startGateway } from '../gateway/server.ts'
import { startStatusServer } from '../gateway/status-server.ts'
import { startWarmer } from '../gateway/warm.ts'
import { createContributionHealth, type HealthChecks } from '../kernel/contribution-health.ts'
import { DEMO_HOST } from '../supervisor/demo-certificate.ts'
import { type ProcessStart, socketsIn } from '../supervisor/messages.ts'
import { createDestinationClusters } from './destination-clusters.ts'
import { hostChanges, openAuthority, watchHosts } from './forward-authority.ts'
import { gatewayDeps } from './gateway-deps.ts'
import { failedComponents, nodeHealth } from './node-health.ts'
import { type RoleEvents, type RunningRole, WARM_AFTER_MS } from './role-events.ts'
import { openRuntime, type Runtime } from './runtime.ts'
import { prepareToServe } from './warm-up.ts'

/** Serves health and metrics of a machine without an admin process, on the socket of the management API. */
const startPages = async (
  runtime: Runtime,
  own: HealthChecks,
  config: Config,
  start: ProcessStart,
  log: Log,
) => {
  const [{ startAdmin }, { readIdentity, renewIdentity }] = await Promise.all([
    import('../admin/server.ts'),
    import('./identity.ts'),
  ])
  const { kernel, metrics } = runtime
  const node = nodeHealth(runtime, config, start, log)
  const { sources } = node
  const checks = { ...node.checks, ...own }
  const admin = await startAdmin(
    {
      kernel,
      metrics,
      log,
      checks,
      sources,
      caPem: config.forwardListen && openAuthority(config, runtime).caPem,
    },
    {
      listen: { socketPath: socketsIn(start.runDir, config.workers).api },
      prefixes: config.headerPrefixes,
      management: false,
      admit: runtime.admit,
      processName: `gateway-${start.worker}`,
      ops: start.ops && { ...start.ops, identity: await readIdentity(config) },
    },
  )
  return {
    reload: async (next: Config) => {
      node.reload(next)
      await renewIdentity(admin, next, log)
    },
    failed: () => failedComponents({ kernel: () => kernel.health(), ...checks }),
    close: admin.close,
  }
}

/** A gateway process: Envoy's external processor and its own status page, both on unix sockets. */
export const startGatewayRole = async (
  config: Config,
  start: ProcessStart,
  log: Log,
  events: RoleEvents = {},
): Promise<RunningRole> => {
  const name = `gateway-${start.worker}`
  const runtime = await openRuntime(config, {
    name,
    owner: false,
    tenant: start.tenant,
    ports: start.ports,
    trustBundle: start.settings.trustBundle,
    log,
    notify: events,
  })
  const { kernel, metrics, store, maintenance } = runtime
  // A machine without an admin process ingests its journals here.
  const ingests = config.postgres !== undefined && start.role === 'gateway' && start.worker === 0
  if (ingests) maintenance.start()
  const { sandbox } = runtime.hostApi
  const deps = gatewayDeps(runtime, {
    prefixes: config.headerPrefixes,
    log,
    tenant: start.tenant,
  })
  const { proxies } = deps
  const sockets = socketsIn(start.runDir, config.workers)
  const at = (paths: readonly string[]) => paths[start.worker] ?? ''
  const clusters = createDestinationClusters(sockets.control)
  let { ports } = config.egress
  const bindings = createBindings({
    proxies,
    tenants: kernel.tenants,
    ports: () => ports,
    whenOpened: createOpenedHosts(hostChanges(runtime), { control: sockets.control }),
  })
  const forwardHosts =
    start.forward === undefined || start.worker > 0
      ? undefined
      : watchHosts(runtime, config, { control: sockets.control, log })
  await prepareToServe(runtime)
  const gateway = await startGateway(
    {
      ...deps,
      clusterOf: clusters.clusterOf,
      ...(start.forward === undefined ? {} : { bindings }),
    },
    {
      socketPath: at(sockets.gateways),
      logSocketPath: at(sockets.logs),
      worker: start.worker,
      prefixes: config.headerPrefixes,
      egress: config.egress,
      ...(start.demo ? { demoHost: DEMO_HOST } : {}),
      hasConsole: config.console && start.role !== 'gateway',
      limits: {
        bodyBytes: config.proxyBodyLimit,
        responseMs: config.destinationTimeoutMs,
        heldBytes: heldBytes(config.envoyMemoryBytes) / config.workers,
        hosts: HOSTS / config.workers,
      },
    },
  )
  const health = async () => {
    await Promise.all([store.health(), kernel.health()])
  }
  const servesPages = start.role === 'gateway' && start.worker === 0
  const contributions = createContributionHealth({
    sources: runtime.health.filter(
      ({ kind }) => kind === 'check' || (servesPages && ['token-type', 'key-provider'].includes(kind)),
    ),
    log,
  })
  contributions.start()
  const parts = { sandbox: () => sandbox.health(), records: () => kernel.records(), ...contributions.checks }
  const ops = await startStatusServer({ metrics, health, parts }, at(sockets.status))
  const pages = servesPages ? await startPages(runtime, contributions.checks, config, start, log) : undefined
  const warmer = startWarmer({ proxies, sandbox, log }, { afterMs: WARM_AFTER_MS })
  return {
    reload: async (next, trustBundle) => {
      await runtime.reload(next, trustBundle)
      await pages?.reload(next)
      clusters.clear()
      ports = next.egress.ports
      gateway.apply({
        egress: next.egress,
        bodyBytes: next.proxyBodyLimit,
        responseMs: next.destinationTimeoutMs,
      })
    },
    ...(pages && { failed: pages.failed }),
    close: async () => {
      warmer.close()
      contributions.stop()
      await pages?.close()
      await gateway.close()
      await forwardHosts?.close()
      await ops.close()
      if (ingests) await maintenance.stop()
      await runtime.close()
    },
  }
}
