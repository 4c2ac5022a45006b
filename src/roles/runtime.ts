import { hash as digest, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { createIngest } from '../audit/ingest.ts'
import { createRecentLinesCache } from '../audit/recent-lines-cache.ts'
import { createRowMonitor } from '../audit/row-monitor.ts'
import type { Journal } from '../audit/types.ts'
import { steadyClock, systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { createMetrics, type Metrics } from '../common/metrics.ts'
import type { GuessLimiter, RateLimiter } from '../common/rate-limiter.ts'
import type { Config } from '../config.ts'
import { createExpressions } from '../expressions/expressions.ts'
import { type CodeHost, createCodeHost } from '../host-api/host-api.ts'
import { startKernel } from '../kernel/kernel.ts'
import type { Kernel } from '../kernel/types.ts'
import { openKeys } from '../keys/open.ts'
import type { Keys } from '../keys/types.ts'
import { createInProcessState } from '../shared-state/in-process.ts'
import { openSharedState } from '../shared-state/open.ts'
import { createGuessLimit, createRateLimits } from '../shared-state/rate-limits.ts'
import type { SharedState } from '../shared-state/types.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/types.ts'
import { createVault } from '../vault/vault.ts'
import { acquireJournal } from './acquire-journal.ts'
import { type AuditMaintenance, createAuditMaintenance } from './audit-maintenance.ts'
import { type Egress, openEgress } from './egress.ts'
import { PLUGINS_DIR } from './plugins-dir.ts'
import { journalDirectory, journalName } from './replica.ts'
import type { RoleEvents } from './role-events.ts'
import { loadRoot } from './root-key.ts'
import { validationCacheIn } from './validation-cache.ts'

/** What admin and gateway both stand on. */
export interface Runtime {
  readonly store: Store
  readonly keys: Keys
  readonly journal: Journal
  readonly kernel: Kernel
  readonly metrics: Metrics
  /** Tenants' code; its processes start with the first use. */
  readonly codeHost: CodeHost
  /** Of the journals of all processes of this data directory. */
  readonly maintenance: AuditMaintenance
  /** Where a destination's host is to be dialed (`Egress.dial`). */
  readonly dial: Egress['dial']
  /** What replicas share for a short time. */
  readonly state: SharedState
  /** Rate limits, when there are any. */
  readonly admit: RateLimiter
  /** Goes on with settings that may change while it runs (`RunningRole.take`). */
  take(config: Config, trustBundle: string): Promise<void>
  /** In the opposite order of opening. */
  close(): Promise<void>
}

/** What `openStore` is given. */
export const storeLocation = (config: Config): string => config.postgres?.reveal() ?? config.store

/** The admin process makes the service's keys on the first start, while the others start beside it. */
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

/** The keys of an open store. Those of the service are made when there are none and `mayCreate` allows. */
export const openStoreKeys = async (config: Config, store: Store, mayCreate: boolean): Promise<Keys> => {
  // A new root key beside data under a lost one would only hide the loss.
  if (!mayCreate) await firstKeys(store)
  const create = mayCreate && (await store.keys.keys('')).length === 0
  const load = (how: 'existing' | 'first') => loadRoot(config, store, config.rootKeySource?.reveal(), how)
  const { key: rootKey, row } = await load(create ? 'first' : 'existing')
  const reload = async () => (await load('existing')).key
  return openKeys({ keys: store.keys, clock: systemClock }, { rootKey, row, create, reload })
}

/** Store, keys, journal and kernel of one process. The admin process owns the schema and makes the first keys. */
export const openRuntime = async (
  config: Config,
  options: {
    readonly name: string
    readonly owner: boolean
    /** Port of the edge: never dialed by code. */
    readonly listenPort?: number
    /** PEM file of the authorities that Envoy trusts. Default: made of what the configuration names. */
    readonly trustBundle?: string
    readonly log: Log
    readonly notify?: RoleEvents
  },
): Promise<Runtime> => {
  const { log, owner, name, notify: { onProgress, onSandbox } = {} } = options
  const metrics = createMetrics()
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const one of closers.splice(0).toReversed()) await one()
  }
  try {
    let announce = () => {}
    const store = await openStore({
      location: storeLocation(config),
      postgres: config.storeLimits,
      mode: owner ? 'read-write' : 'join',
      log,
      onMoved: () => announce(),
    })
    closers.push(() => store.close())
    const keys = await openStoreKeys(config, store, owner)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    // Who reads them back.
    const own = owner ? { own: createRecentLinesCache() } : {}
    const journal = await acquireJournal({ store, mac, log, ...own }, config, {
      process: name,
      sync: config.auditSync,
    })
    closers.push(() => journal.close())
    const processName = await journalName(config, name)
    // Whoever has the journal of this name is the only process of it.
    await store.idempotency.abandonAllOf(processName, systemClock.now())
    const onBroken = () => metrics.brokenJournals.inc()
    const ingest = createIngest(
      { logs: store.logs, mac, log, ...own },
      { directory: journalDirectory(config), onBroken },
    )
    const { registry } = metrics
    const rows = owner
      ? { rows: createRowMonitor({ mac, logs: store.logs, clock: systemClock, log, registry }) }
      : {}
    const maintenance = await createAuditMaintenance(
      { mac, ingest, registry, clock: systemClock, log, ...rows },
      config,
      onBroken,
    )
    const egress = await openEgress(config, {
      listenPort: options.listenPort ?? config.listen.port,
      trustBundle: options.trustBundle,
    })
    closers.push(() => egress.close())
    const codeHost = createCodeHost({
      startSandbox: async () => {
        const { createSandbox } = await import('../sandbox/sandbox.ts')
        const { warmContexts, sandboxMemoryMb: memoryMb, sandboxRequire: require } = config
        return createSandbox(
          { log, metrics },
          { warmContexts, memoryMb, require, ...(onSandbox === undefined ? {} : { onChild: onSandbox }) },
        )
      },
      fetch: egress.fetch,
    })
    closers.push(() => codeHost.close())
    // what is required and missing is found out now, and not at the first use
    if (config.sandboxRequire.length > 0) await codeHost.sandbox.warm([])
    const card = config.cvcSeconds === undefined ? {} : { card: { cvc_seconds: config.cvcSeconds } }
    let guessLimit: GuessLimiter | undefined
    const kernel = await startKernel(
      {
        store,
        keys,
        processName,
        clock: systemClock,
        log,
        metrics,
        journal,
        ingested: () => ingest.catchUp(),
        checkDestination: egress.checkDestination,
        createExpressions,
        createVault: (parts) =>
          createVault({
            ...parts,
            tokens: store.tokens,
            keys,
            journal,
            clock: systemClock,
            metrics,
            admitGuesses: async (caller, guesses) => guessLimit?.(caller, guesses),
          }),
        createCode: codeHost.createCode,
        fetch: egress.fetch,
      },
      {
        plugins: config.plugins,
        pluginsDir: PLUGINS_DIR,
        bases: config.pluginBases,
        configs: { ...card, ...config.pluginConfig },
        operations: owner,
        validationCache: validationCacheIn(config.dataDir),
        ...(onProgress === undefined ? {} : { onProgress }),
      },
    )
    closers.push(() => kernel.stop())
    const hash = (text: string) => keys.mac('api-key', text)
    const state = await openSharedState({
      url: config.redisUrl?.reveal(),
      vault: hash('vault in shared state').slice(0, 16),
      clock: steadyClock,
      registry,
      log,
    })
    closers.push(() => state.close())
    announce = () => state.announce()
    state.listen(() => store.changed())
    // What nobody asked for is not worth a round trip to Redis.
    const ownState = createInProcessState({ clock: steadyClock })
    const salt = randomBytes(32).toString('base64')
    // Names no key either, for a tenth of what an HMAC costs each call.
    const ownHash = (text: string) => digest('sha256', salt + text, 'base64')
    const limitsOf = ({ rateLimits }: Config) =>
      createRateLimits(
        rateLimits.areDefault || state.reach === 'own' ? { state: ownState, hash: ownHash } : { state, hash },
        rateLimits,
      )
    const guessLimitOf = ({ rateLimits }: Config) => createGuessLimit({ state, hash }, rateLimits.guesses)
    let limits = limitsOf(config)
    guessLimit = guessLimitOf(config)
    const admit: RateLimiter = async (visitor) => limits?.(visitor)
    const take = async (next: Config, trustBundle: string) => {
      await egress.take(next, trustBundle)
      await maintenance.take(next)
      limits = limitsOf(next)
      guessLimit = guessLimitOf(next)
    }
    const { dial } = egress
    return { store, keys, journal, kernel, metrics, codeHost, maintenance, dial, state, admit, take, close }
  } catch (error) {
    await close()
    throw error
  }
}
