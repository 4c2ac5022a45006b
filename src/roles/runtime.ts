import { hash as digest, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { createIngest } from '../audit/ingest.ts'
import { createRecentLinesCache } from '../audit/recent-lines-cache.ts'
import { createRowMonitor } from '../audit/row-monitor.ts'
import type { Journal } from '../audit/types.ts'
import { type Clock, steadyClock, systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import { createMetrics, type Metrics } from '../common/metrics.ts'
import type { GuessLimiter, RateLimiter } from '../common/rate-limiter.ts'
import { type Config, listenPorts } from '../config.ts'
import { createExpressions } from '../expressions/expressions.ts'
import { createHostApi, type HostApi } from '../host-api/host-api.ts'
import type { SandboxStart } from '../host-api/lazy-sandbox.ts'
import { startKernel } from '../kernel/kernel.ts'
import type { PluginSource } from '../kernel/load/discover.ts'
import { PLUGINS_DIR } from '../kernel/load/plugins-dir.ts'
import type { HealthSource, Kernel, Peers } from '../kernel/types.ts'
import { delegationsIn, journalProcess } from '../keys/delegated-key.ts'
import { openKeys } from '../keys/open.ts'
import { openDelegatedKeys } from '../keys/open-delegated.ts'
import type { Keys } from '../keys/types.ts'
import { createInProcessState } from '../shared-state/in-process.ts'
import { openSharedState } from '../shared-state/open.ts'
import { createGuessLimit, createRateLimits } from '../shared-state/rate-limits.ts'
import type { SharedState } from '../shared-state/types.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { createVault } from '../vault/vault.ts'
import { acquireJournal } from './acquire-journal.ts'
import { type AuditMaintenance, createAuditMaintenance } from './audit-maintenance.ts'
import { loadDelegation } from './delegation.ts'
import { type Egress, openEgress } from './egress.ts'
import { journalDirectory, journalName } from './replica.ts'
import type { RoleEvents } from './role-events.ts'
import { loadRoot } from './root-key.ts'
import { validationCacheIn } from './validation-cache.ts'

/** The parts that admin and gateway processes share. */
export interface Runtime {
  readonly store: Store
  readonly keys: Keys
  readonly journal: Journal
  readonly kernel: Kernel
  readonly metrics: Metrics
  /** Runs tenants' code. Its processes start with the first code. */
  readonly hostApi: HostApi
  /** Maintains the journals of all processes of this data directory. */
  readonly maintenance: AuditMaintenance
  /** Contributions of plugins that report how they are, the key provider included. */
  readonly health: readonly HealthSource[]
  /** See `Egress.dial`. */
  readonly dial: Egress['dial']
  /** Short-lived state shared by replicas. */
  readonly state: SharedState
  /** Applies the rate limits. */
  readonly admit: RateLimiter
  /** Applies the reloadable settings (`RunningRole.reload`). */
  reload(config: Config, trustBundle: string): Promise<void>
  /** Closes the parts in reverse order. */
  close(): Promise<void>
}

/** The location for `openStore`: the URL of the database, or the SQLite file. */
export const storeLocation = (config: Config): string => config.postgres?.reveal() ?? config.store

/** How long other processes wait on the first start until the admin process has created the service's keys, ms. */
const FIRST_KEYS_MS = 10_000
const FIRST_KEYS_STEP_MS = 20

const firstKeys = async (store: Store): Promise<void> => {
  for (
    let left = FIRST_KEYS_MS;
    left > 0 && (await store.keys.keys('')).length === 0;
    left -= FIRST_KEYS_STEP_MS
  )
    await setTimeout(FIRST_KEYS_STEP_MS)
}

/**
 * The keys of an open store. Creates the service's keys if there are none and `mayCreate` is set. Calls get
 * `overloaded` when a rotated root key cannot be loaded later; only the log names the reason, since it contains paths.
 */
export const openStoreKeys = async (
  config: Config,
  deps: {
    readonly store: Store
    readonly log: Log
    readonly clock?: Clock
    /** Called when the key provider reports how it is. */
    readonly onHealth?: (health: HealthSource) => void
  },
  mayCreate: boolean,
): Promise<Keys> => {
  const { store, log, clock = systemClock, onHealth } = deps
  // `create` only for an empty store: a new root key for existing data would hide the loss of the old one.
  if (!mayCreate) await firstKeys(store)
  const create = mayCreate && (await store.keys.keys('')).length === 0
  const load = (how: 'existing' | 'first') => loadRoot(config, store, config.rootKeySource?.reveal(), how)
  const { key: rootKey, row, health } = await load(create ? 'first' : 'existing')
  if (health) onHealth?.(health)
  const throttle = createLogThrottle()
  const reload = async () => {
    try {
      return (await load('existing')).key
    } catch (err) {
      if (throttle('reload') !== undefined)
        log.error(
          { err, ...(err instanceof AppError ? { reason: err.message } : {}) },
          'the store has another root key, which cannot be loaded from its source',
        )
      throw new AppError(
        'overloaded',
        'The service cannot load its root key. Retry; if it persists, ask the operator to read the log.',
        { cause: err },
      )
    }
  }
  return openKeys({ keys: store.keys, clock }, { rootKey, row, create, reload })
}

/** The clocks of a runtime, and how it gets its other parts. */
interface RuntimeParts {
  readonly clock: Clock
  /** Runs on when the system's clock is set. */
  readonly steadyClock: Clock
  readonly openStore: typeof openStore
  readonly createMetrics: (name: string) => Metrics
  readonly acquireJournal: typeof acquireJournal
  readonly validationCacheIn: typeof validationCacheIn
  readonly sandboxOf: typeof sandboxOf
}

/** Loads the sandbox with the first code: most processes never need it. */
const sandboxOf = (
  { sandboxMemoryMb: memoryMib, sandboxRequire: require }: Config,
  { log, metrics, onSandbox }: RoleEvents & { readonly log: Log; readonly metrics: Metrics },
): SandboxStart => ({
  confine: async (signal) => {
    const { detectConfinement } = await import('../sandbox/parent/confinement.ts')
    return detectConfinement(require, log, signal)
  },
  start: async (confinement) => {
    const { createSandbox } = await import('../sandbox/sandbox.ts')
    const onChild = onSandbox === undefined ? {} : { onChild: onSandbox }
    return createSandbox({ log, metrics }, { memoryMib, require, confinement, ...onChild })
  },
})

const PARTS: RuntimeParts = {
  clock: systemClock,
  steadyClock,
  openStore,
  createMetrics,
  acquireJournal,
  validationCacheIn,
  sandboxOf,
}

/** Store, keys, journal and kernel of one process. The admin process owns the schema and creates the first keys. */
export const openRuntime = async (
  config: Config,
  options: {
    readonly name: string
    readonly owner: boolean
    /** The only tenant, with a delegated key. Default: all, with the root key. */
    readonly tenant?: string | undefined
    /** The service's own ports. Code must not connect to them. Default: those of the configuration. */
    readonly ports?: readonly number[]
    /** PEM file of the authorities that Envoy trusts. Default: built from the configuration. */
    readonly trustBundle?: string
    readonly log: Log
    readonly notify?: RoleEvents
    /** Calls of the other processes of this node. Default: there are none. */
    readonly peers?: Peers
    /** See `KernelOptions.background`. */
    readonly background?: boolean
    /** Default: those of the configuration. */
    readonly plugins?: readonly PluginSource[]
  },
  parts: Partial<RuntimeParts> = {},
): Promise<Runtime> => {
  const { log, owner, tenant, notify: { onProgress } = {} } = options
  const { clock, steadyClock, openStore, createMetrics, acquireJournal, validationCacheIn, sandboxOf } = {
    ...PARTS,
    ...parts,
  }
  const metrics = createMetrics(options.name)
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closePart of closers.splice(0).toReversed()) await closePart()
  }
  try {
    const delegated = tenant === undefined ? undefined : await loadDelegation(config, tenant)
    const name = delegated === undefined ? options.name : journalProcess(options.name, delegated)
    const store = await openStore({
      location: storeLocation(config),
      postgres: config.storeLimits,
      mode: owner ? 'read-write' : 'join',
      log,
      ...(delegated === undefined ? {} : { bound: true }),
    })
    closers.push(() => store.close())
    const keyHealth: HealthSource[] = []
    const onHealth = (health: HealthSource) => void keyHealth.push(health)
    const keys =
      delegated === undefined
        ? await openStoreKeys(config, { store, log, clock, onHealth }, owner)
        : await openDelegatedKeys({ keys: store.keys, clock }, delegated)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    // Only the owner reads recent lines back.
    const own = owner ? { own: createRecentLinesCache() } : {}
    const journal = await acquireJournal({ store, mac, log, ...own }, config, {
      process: name,
      sync: config.auditSync,
    })
    closers.push(() => journal.close())
    const processName = await journalName(config, name)
    // The journal lock guarantees that no other process has this name.
    await store.idempotency.abandonAllOf(processName, clock.now())
    const onBroken = () => metrics.brokenJournals.inc()
    const ingest = createIngest(
      { logs: store.logs, mac, log, ...own },
      { directory: journalDirectory(config), onBroken },
    )
    const { registry } = metrics
    const rows = owner
      ? { rows: createRowMonitor({ journalMac: keys.journalMac, logs: store.logs, clock, log, registry }) }
      : {}
    const maintenance = await createAuditMaintenance(
      { mac, ingest, registry, clock, log, ...rows },
      config,
      onBroken,
    )
    const egress = await openEgress(config, {
      ports: options.ports ?? listenPorts(config),
      trustBundle: options.trustBundle,
    })
    closers.push(() => egress.close())
    const hostApi = createHostApi({
      sandbox: sandboxOf(config, { log, metrics, ...options.notify }),
      fetch: egress.fetch,
      headerPrefixes: config.headerPrefixes,
    })
    closers.push(() => hostApi.close())
    // A missing requirement must fail at the start, not at the first use.
    if (config.sandboxRequire.length > 0) await hostApi.sandbox.warm([])
    const card = config.cvcSeconds === undefined ? {} : { card: { cvc_seconds: config.cvcSeconds } }
    let guessLimit: GuessLimiter | undefined
    const kernel = await startKernel(
      {
        store,
        keys,
        processName,
        clock,
        log,
        metrics,
        journal,
        ingested: () => ingest.catchUp(),
        checkDestination: egress.checkDestination,
        headerPrefixes: config.headerPrefixes,
        createExpressions,
        createVault: (services) =>
          createVault({
            ...services,
            tokens: store.tokens,
            keys,
            journal,
            clock,
            metrics,
            admitGuesses: async (caller, guesses) => guessLimit?.(caller, guesses),
          }),
        createCode: hostApi.createCode,
        fetch: egress.fetch,
        delegations: async (tenantId) => delegationsIn(await store.keys.keys(tenantId)),
        ...(options.peers ? { peers: options.peers } : {}),
      },
      {
        plugins: options.plugins ?? config.plugins,
        pluginsDir: PLUGINS_DIR,
        bases: config.pluginBases,
        configs: { ...card, ...config.pluginConfig },
        operations: owner,
        background: options.background ?? true,
        validationCache: validationCacheIn(config.dataDir),
        ...(onProgress === undefined ? {} : { onProgress }),
      },
    )
    closers.push(() => kernel.stop())
    const hash = (text: string) => keys.mac('api-key', text)
    const state = await openSharedState({
      url: config.redisUrl?.reveal(),
      clock: steadyClock,
      registry,
      log,
    })
    closers.push(() => state.close())
    // Default rate limits are not worth a round trip to Redis.
    const ownState = createInProcessState({ clock: steadyClock })
    const salt = randomBytes(32).toString('base64')
    // Also hides the key, and costs a tenth of an HMAC per call.
    const ownHash = (text: string) => digest('sha256', salt + text, 'base64')
    const limitsOf = ({ rateLimits }: Config) =>
      createRateLimits(
        rateLimits.areDefault || state.backend === 'own'
          ? { state: ownState, hash: ownHash }
          : { state, hash },
        rateLimits,
      )
    const guessLimitOf = ({ rateLimits }: Config) => createGuessLimit({ state, hash }, rateLimits.guesses)
    let limits = limitsOf(config)
    guessLimit = guessLimitOf(config)
    const admit: RateLimiter = (client, report) => limits?.(client, report)
    const reload = async (next: Config, trustBundle: string) => {
      await egress.reload(next, trustBundle)
      await maintenance.reload(next)
      limits = limitsOf(next)
      guessLimit = guessLimitOf(next)
    }
    const { dial } = egress
    const health = [...keyHealth, ...kernel.registry.health]
    return {
      ...{ store, keys, journal, kernel, metrics, hostApi, maintenance, dial, state },
      ...{ health, admit, reload, close },
    }
  } catch (error) {
    await close()
    throw error
  }
}
