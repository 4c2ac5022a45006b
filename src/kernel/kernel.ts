import type { Journal } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Keys } from '../keys/types.ts'
import type { Filter, Tenants, TokenType, Vault } from '../sdk/index.ts'
import type { Store } from '../store/types.ts'
import { createAuthenticator } from './authenticate.ts'
import { checkContribution, FILTER_NAME } from './check-contribution.ts'
import { checkConfig, checkConfigNames, checkPlugins } from './check-plugin.ts'
import { checkTogether } from './check-together.ts'
import { discover, type PluginSource } from './discover.ts'
import { type Fault, PluginFaults } from './faults.ts'
import { createInvoke } from './invoke.ts'
import { createRegistry, filtersOf } from './registry.ts'
import { createServices, createTenants } from './services.ts'
import { setUp } from './setup.ts'
import type { LoadedPlugin, Registry, RunningKernel } from './types.ts'

/** What the kernel hands to the vault's maker once all plugins are known. */
export interface VaultParts {
  readonly tokenTypes: () => ReadonlyMap<string, TokenType>
  /** With the filters of all plugins. */
  readonly expressions: Expressions
  readonly tenants: Tenants
}

export interface KernelDeps {
  readonly store: Pick<Store, 'records' | 'tenants'>
  readonly keys: Pick<Keys, 'mac'>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly journal: Journal
  readonly createExpressions: (options: { filters: Readonly<Record<string, Filter>> }) => Expressions
  readonly createVault: (parts: VaultParts) => Vault
}

export interface KernelOptions {
  /** `SIDEVAULT_PLUGINS`: `*`, folders, npm names, JSON files; or plugins themselves. */
  readonly plugins: readonly PluginSource[]
  /** The folder that `*` stands for. */
  readonly pluginsDir: string
  /** Where relative paths of the list start. Default: the working directory. */
  readonly base?: string
  /** Configuration of plugins by name. */
  readonly configs?: Readonly<Record<string, unknown>>
  /** ms that one plugin's setup may take. */
  readonly setupTimeout?: number
}

/** How long the start of a plugin may take, in ms. */
const START_TIMEOUT = 30_000
/** How long stopping waits for calls that still run, in ms. */
const STOP_TIMEOUT = 5_000

/**
 * Loads, checks and starts the plugins of the list. Rejects with `PluginFaults` naming every fault of every plugin, in
 * which case no plugin has started. Starting goes in order of requirement; when one start fails, those already started
 * are stopped and the error is passed on.
 */
export const startKernel = async (deps: KernelDeps, options: KernelOptions): Promise<RunningKernel> => {
  const { store, log } = deps
  const faults: Fault[] = []
  const configs = options.configs ?? {}
  const candidates = await discover(
    { sources: options.plugins, pluginsDir: options.pluginsDir, base: options.base ?? process.cwd() },
    faults,
  )
  const plugins = checkPlugins(candidates, faults)
  checkConfigNames(configs, plugins, faults)

  let registry: Registry | undefined
  let vault: Vault | undefined
  const foundation = {
    store: store.records,
    tenants: store.tenants,
    keys: deps.keys,
    clock: deps.clock,
    started: () => registry !== undefined,
    vault: () => vault!,
    tokenTypes: () => [...registry!.tokenTypes.values()],
    permissions: () => registry!.permissions,
  }
  const loaded: LoadedPlugin[] = []
  const results = await Promise.all(
    plugins.map(async (plugin) => {
      const config = checkConfig(plugin, configs[plugin.name], faults)
      const services = createServices(plugin, config, {
        ...foundation,
        log: log.child({ plugin: plugin.name }),
        collectionsOf: (asking) =>
          loaded.find((each) => each.plugin === asking)?.contribution.collections ?? [],
      })
      const contribution = await setUp(plugin, services, faults, options.setupTimeout)
      return contribution && { plugin, contribution }
    }),
  )
  loaded.push(...results.filter((result) => result !== undefined))

  const builtIn = new Set(deps.createExpressions({ filters: {} }).filters.keys())
  const expressions = deps.createExpressions({
    filters: Object.fromEntries(
      Object.entries(filtersOf(loaded)).filter(
        ([name, filter]) => FILTER_NAME.test(name) && !builtIn.has(name) && typeof filter === 'function',
      ),
    ),
  })
  const permissions = new Set(
    loaded.flatMap(({ contribution }) => (contribution.permissions ?? []).map(({ type }) => type)),
  )
  for (const { plugin, contribution } of loaded)
    checkContribution(plugin, contribution, { permissions, expressions, builtIn }, faults)
  checkTogether(loaded, faults)
  if (faults.length > 0) throw new PluginFaults(faults)

  const wired = createRegistry(loaded)
  const tenants = createTenants(store.tenants)
  vault = deps.createVault({ tokenTypes: () => wired.tokenTypes, expressions, tenants })
  registry = wired
  return runKernel(deps, { registry: wired, vault, tenants, expressions })
}

type Wired = Pick<RunningKernel, 'registry' | 'vault' | 'tenants' | 'expressions'>

const within = async (what: string, ms: number, promise: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not settle within ${ms / 1000} s`)), ms)
  })
  try {
    await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const runKernel = async (deps: KernelDeps, wired: Wired): Promise<RunningKernel> => {
  const { registry } = wired
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
  for (const each of registry.plugins) {
    try {
      await within(
        `start of plugin "${each.plugin.name}"`,
        START_TIMEOUT,
        (async () => each.contribution.start?.(stopping.signal))(),
      )
      startedPlugins.push(each)
    } catch (thrown) {
      await stopAll()
      throw thrown
    }
  }

  const authenticator = createAuthenticator({
    keys: deps.keys,
    records: deps.store.records,
    clock: deps.clock,
    credentials: () => registry.ports.credentials,
  })
  const { invoke, settled } = createInvoke(registry.operations, { ...deps, authenticator })
  const stop = async () => {
    try {
      await within('calls in flight', STOP_TIMEOUT, settled())
    } catch (err) {
      log.error({ err }, 'stopping before every call has ended')
    }
    await stopAll()
  }
  let stopped: Promise<void> | undefined
  return Object.freeze({
    ...wired,
    authenticator,
    log,
    invoke,
    health: async () => {
      await Promise.all([
        journal.health(),
        ...registry.plugins.map(({ contribution }) => contribution.health?.()),
      ])
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  })
}
