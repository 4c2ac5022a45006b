import { auditRecord } from '../access/audit-record.ts'
import type { Journal } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import { mergeDestinations } from '../common/destination-counts.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import { mergeRequests } from '../common/request-ring.ts'
import { TimeoutError, withTimeout } from '../common/with-timeout.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Keys } from '../keys/types.ts'
import type { Code, Filter, Operation, PluginContext, Tenants, TokenType, Vault } from '../sdk/index.ts'
import type { Store } from '../store/store.ts'
import { firstLine, PluginIssues } from './check/issues.ts'
import { checkConfigNames, placeOf } from './check/plugin.ts'
import { createAuthenticator } from './invoke/authenticate.ts'
import { createIdempotency } from './invoke/idempotency.ts'
import { createInvoke, type Invoke } from './invoke/invoke.ts'
import { type LoadOptions, loadPlugins } from './load/load.ts'
import { createRegistry } from './registry.ts'
import { createAllowedOrigins } from './services/allowed-origins.ts'
import { checkProviderConfigs } from './services/key-providers.ts'
import { createRejectedRecords, type RejectedRecords } from './services/rejected-records.ts'
import type { ServiceDeps } from './services/services.ts'
import { createTenantGuards, createTenants } from './services/tenants.ts'
import type { Kernel, LoadedPlugin, Peers } from './types.ts'

/** The kernel's arguments for the factory of the vault, when all plugins are known. */
interface VaultServices {
  readonly tokenTypes: () => ReadonlyMap<string, TokenType>
  /** The expression language with the filters of all plugins. */
  readonly expressions: Expressions
  readonly tenants: Tenants
}

/** The kernel's arguments for the factory of the service that runs tenants' code. */
interface CodeServices {
  readonly operations: readonly Operation[]
  readonly invokeAs: Kernel['invokeAs']
}

interface KernelDeps {
  readonly store: Pick<Store, 'records' | 'tenants' | 'logs' | 'usage' | 'idempotency'>
  readonly keys: Pick<Keys, 'mac' | 'tenant'>
  /** Resolves when all records from before the call are in the store. */
  readonly ingested: () => Promise<unknown>
  /** Throws `invalid_destination` or `destination_not_allowed` when the gateway would reject the URL. */
  readonly checkDestination: (url: string) => void
  /** Header prefixes of the service. */
  readonly headerPrefixes: readonly string[]
  /** Unique among the running processes of the store. */
  readonly processName?: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly journal: Journal
  readonly createExpressions: (options: { filters: Readonly<Record<string, Filter>> }) => Expressions
  readonly createVault: (services: VaultServices) => Vault
  readonly createCode: (services: CodeServices) => Code
  readonly fetch: PluginContext['fetch']
  readonly delegations: PluginContext['delegations']
  /** Calls of the other processes of this node. Default: there are none. */
  readonly peers?: Peers
}

interface KernelOptions extends LoadOptions {
  /** Plugins start, and do their work in the background. Default true; false in commands beside a service. */
  readonly background?: boolean
}

/** Timeout of a plugin's start, ms. */
const START_TIMEOUT = 30_000
/** Timeout of a stop for running calls, ms. */
const STOP_TIMEOUT = 5_000

/**
 * Loads, checks and starts the plugins of the list. Rejects with `PluginIssues` with all issues of all plugins, in
 * which case no plugin has started. Plugins start in order of requirement, unless `background` is false; when one start
 * fails, the started ones are stopped and the issue is reported in the same way.
 */
export const startKernel = async (deps: KernelDeps, options: KernelOptions): Promise<Kernel> => {
  const { store, metrics, peers } = deps
  let services: ServiceDeps | undefined
  const rejected = createRejectedRecords(deps)
  const authenticator = createAuthenticator({
    ...deps,
    records: store.records,
    ports: () => services?.registry.ports ?? {},
  })
  const { loaded, plugins, expressions, issues } = await loadPlugins(
    { ...deps, services: () => services },
    options,
  )
  const names = plugins.map(({ plugin }) => plugin.name)
  const { configs = {}, plugins: sources, pluginsDir, bases = [process.cwd()] } = options
  checkConfigNames(configs, names, issues)
  await checkProviderConfigs(configs, { sources, pluginsDir, bases }, issues)
  if (issues.length > 0) throw new PluginIssues(issues)

  const registry = createRegistry(loaded)
  const tenantDeps = { store: store.tenants, keys: deps.keys, onRejected: rejected.onRejected }
  const tenants = createTenants(tenantDeps)
  const tenantGuards = createTenantGuards(tenantDeps)
  const vault = deps.createVault({ tokenTypes: () => registry.tokenTypes, expressions, tenants })
  const idempotency = createIdempotency({
    ...deps,
    vault,
    responses: store.idempotency,
    tokenTypes: registry.tokenTypes,
  })
  const calls = createInvoke(registry.operations, { ...deps, authenticator, idempotency })
  const code = deps.createCode({ operations: registry.operations, invokeAs: calls.invokeAs })
  services = {
    ...deps,
    ...{ registry, vault, code, onRejected: rejected.onRejected },
    audit: (event, origin) => deps.journal.append([auditRecord(event, origin, deps.clock.now())]),
    identify: authenticator.identify,
    requests: async (query) =>
      mergeRequests([metrics.recent.list(query), (await peers?.requests(query)) ?? []], query),
    destinations: async (tenantId) =>
      mergeDestinations([
        metrics.destinations.of(tenantId),
        ...((await peers?.destinations(tenantId)) ?? []),
      ]),
  }
  const collections = registry.plugins.flatMap(({ contribution }) => contribution.collections ?? [])
  const allowedOrigins = createAllowedOrigins(
    store.records,
    collections.filter(({ origins }) => origins !== undefined).map(({ name }) => name),
  )
  const wired = { registry, vault, tenants, tenantGuards, allowedOrigins, expressions, code, authenticator }
  return runKernel(deps, { services: wired, calls, rejected }, options)
}

interface Wired {
  readonly services: Omit<Kernel, 'log' | 'invoke' | 'invokeAs' | 'health' | 'records' | 'stop'>
  readonly calls: Invoke
  readonly rejected: RejectedRecords
}

const runKernel = async (
  deps: KernelDeps,
  wired: Wired,
  { background = true, onProgress }: KernelOptions,
): Promise<Kernel> => {
  const { calls, services, rejected } = wired
  const { registry } = services
  const { log, journal } = deps
  const stopping = new AbortController()
  const startedPlugins: LoadedPlugin[] = []

  const stopAll = async () => {
    stopping.abort()
    for (const { plugin, contribution } of startedPlugins.toReversed()) {
      try {
        await contribution.stop?.()
      } catch (err) {
        log.error({ err, plugin: plugin.name }, 'a plugin failed to stop')
      }
    }
  }
  for (const each of background ? registry.plugins : []) {
    const place = `${placeOf(each.plugin)} › start`
    try {
      if (each.contribution.start) onProgress?.(place)
      const start = (async () => each.contribution.start?.(stopping.signal))()
      onProgress?.(undefined)
      await withTimeout(START_TIMEOUT, () => start)
      startedPlugins.push(each)
    } catch (err) {
      log.error({ err, plugin: each.plugin.name }, 'a plugin failed to start')
      await stopAll()
      const isLate = err instanceof TimeoutError
      const problem = isLate
        ? `it did not settle within ${START_TIMEOUT / 1000} s.`
        : `it failed: ${firstLine(err)}.`
      throw new PluginIssues([
        { location: place, message: problem, fix: 'Its log line says where; the others were stopped.' },
      ])
    }
  }

  const stop = async () => {
    await withTimeout(STOP_TIMEOUT, calls.settled).catch(() =>
      log.error('shutdown timeout: stopping with calls in progress'),
    )
    await stopAll()
  }
  let stopped: Promise<void> | undefined
  return Object.freeze({
    ...services,
    log,
    invoke: calls.invoke,
    invokeAs: calls.invokeAs,
    health: async () => {
      await Promise.all([
        journal.health(),
        ...registry.plugins.map(({ contribution }) => contribution.health?.()),
      ])
    },
    records: async () => rejected.health(),
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  })
}
