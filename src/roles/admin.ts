import { startGrpc } from '../admin/grpc/server.ts'
import { startAdmin } from '../admin/server.ts'
import { systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { programVersion } from '../common/version.ts'
import { configSchema } from '../config/json-schema.ts'
import type { Config } from '../config.ts'
import { createContributionHealth, mergeHealth } from '../kernel/contribution-health.ts'
import { createTasks } from '../kernel/tasks/tasks.ts'
import { DEMO_HOST, demoFiles } from '../supervisor/demo-certificate.ts'
import { startDemoDestination } from '../supervisor/demo-destination.ts'
import { type ProcessStart, socketsIn } from '../supervisor/messages.ts'
import { createPurge } from '../vault/purge.ts'
import { bootstrapTenant } from './bootstrap-tenant.ts'
import { openAuthority } from './forward-authority.ts'
import { readIdentity, renewIdentity } from './identity.ts'
import { startMaintenanceServer } from './maintenance.ts'
import { failedComponents, nodeHealth } from './node-health.ts'
import { createPeerRequests } from './peer-requests.ts'
import { journalName } from './replica.ts'
import { type RoleEvents, type RunningRole, WARM_AFTER_MS } from './role-events.ts'
import { openRuntime, type Runtime } from './runtime.ts'
import { prepareToServe } from './warm-up.ts'

const PURGE_MS = 5_000

/** Reactors compiled in advance. */
const WARM_REACTORS = 50

const warmReactors = async ({ kernel, hostApi }: Runtime): Promise<void> =>
  hostApi.sandbox.warm((await kernel.registry.ports.reactors?.programs(WARM_REACTORS)) ?? [])

/**
 * The admin process: management API, first tenant, ingest of the audit journals, purge, consumers and jobs of plugins,
 * demo destination.
 */
export const startAdminRole = async (
  config: Config,
  start: ProcessStart,
  log: Log,
  events: RoleEvents = {},
): Promise<RunningRole> => {
  const sockets = socketsIn(start.runDir, config.workers)
  const runtime = await openRuntime(config, {
    name: 'admin',
    owner: true,
    ports: start.ports,
    trustBundle: start.settings.trustBundle,
    log,
    notify: events,
    ...(start.role === 'admin' ? {} : { peers: createPeerRequests(sockets.status, log) }),
  })
  const { store, keys, kernel, metrics, maintenance } = runtime
  // If several machines start on one new store, one of them creates the first tenant.
  const installed = await store.withLock('install', () =>
    bootstrapTenant(runtime, { bootstrapKey: config.bootstrapKey, now: systemClock.now(), log }),
  )
  // An unreadable file must not stop the service. `maintenance` tries again, and reports the delay.
  await maintenance.catchUp().catch((err: unknown) => {
    log.error({ err }, 'the audit journals were not ingested completely; the service starts without')
  })
  maintenance.start()
  const purge = createPurge(
    {
      stores: [store.tokens, store.tenantPurge],
      clock: systemClock,
      time: store.time,
      log,
    },
    { intervalMs: PURGE_MS },
  )
  purge.start()
  const tasks = createTasks(
    { store, tasks: kernel.registry.tasks, registry: metrics.registry, log },
    // The journal lock guarantees that no other process has this name.
    await journalName(config, 'admin'),
  )
  tasks.start()
  const node = nodeHealth(runtime, config, start, log)
  const { sources } = node
  const health = createContributionHealth({
    // Checks are asked in the gateways, which run them.
    sources: runtime.health.filter(({ kind }) => kind !== 'check'),
    log,
  })
  health.start()
  const checks = { ...node.checks, ...mergeHealth(tasks.checks, health.checks) }
  const demo = start.demo ? await startDemoDestination(sockets.demo, demoFiles(start.runDir)) : undefined
  const identity = await readIdentity(config)
  const grpc = await startGrpc(
    { kernel, metrics, log, checks },
    {
      socketPath: sockets.grpc,
      prefixes: config.headerPrefixes,
      messageLimit: config.bodyLimit,
      admit: runtime.admit,
    },
  )
  const operator = await startMaintenanceServer(
    {
      store,
      keys,
      credentials: kernel.registry.ports.credentials,
      applications: kernel.registry.ports.applications,
      journal: runtime.journal,
      clock: systemClock,
      log,
    },
    sockets.operator,
  )
  // The last listener: with it, the service is ready.
  await prepareToServe(runtime)
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
      listen: { socketPath: sockets.api },
      prefixes: config.headerPrefixes,
      version: programVersion(),
      configSchema: configSchema(),
      bodyLimit: config.bodyLimit,
      admit: runtime.admit,
      console: config.console,
      direct: start.api && { ...start.api, identity },
      ops: start.ops && { ...start.ops, identity },
    },
  )
  const warming = setTimeout(() => {
    warmReactors(runtime).catch((err: unknown) => {
      log.warn(
        { err },
        'reactors could not be compiled in advance; each is compiled when it is first invoked',
      )
    })
  }, WARM_AFTER_MS).unref()
  let { drainMs } = config
  let drained: Promise<void> | undefined
  const drain = () => {
    drained ??= admin.direct?.close(drainMs)
  }
  if (demo) log.debug({ host: DEMO_HOST }, 'demo destination started')
  return {
    ...(installed === undefined ? {} : { installed }),
    reload: async (next, trustBundle) => {
      await runtime.reload(next, trustBundle)
      node.reload(next)
      await renewIdentity(admin, next, log)
      drainMs = next.drainMs
    },
    failed: () => failedComponents({ kernel: () => kernel.health(), ...checks }),
    drain,
    close: async () => {
      clearTimeout(warming)
      health.stop()
      drain()
      await drained
      await Promise.all([admin.close(), grpc.close(), operator.close(), tasks.stop()])
      await demo?.close()
      await purge.stop()
      await maintenance.stop()
      await runtime.close()
    },
  }
}
