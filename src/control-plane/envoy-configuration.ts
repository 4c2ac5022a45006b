/** Envoy's current configuration, and changes of it, one after the other. */
import { createKeyedMutex } from '../common/keyed-mutex.ts'
import type { Log } from '../common/log.ts'
import { drainingClusters } from './destinations.ts'
import { type Discovery, NackError } from './discovery.ts'
import { ADDRESSES_MS, type BootstrapOptions, hasNewAddress, type Settings, settle } from './options.ts'
import { isSame, overlapping, type Resource, type Snapshot, snapshotOf } from './snapshot.ts'

/** Timeout of an acknowledgement; a killed Envoy restarts within it. */
const ACK_TIMEOUT_MS = 10_000

export interface ConfigurationOptions {
  readonly options: BootstrapOptions
  /** False: there is no Envoy, and every change counts as acknowledged. */
  readonly edge?: boolean
  /** ms between two checks for new addresses of this machine. */
  readonly addressesMs?: number
}

export interface EnvoyConfiguration {
  /** The options of the last acknowledged change, and their settings. */
  readonly options: BootstrapOptions
  readonly settings: Settings
  /**
   * Applies the result of `next`. Resolves when Envoy has acknowledged it. Rejects with the error of `next`, or with
   * NackError after restoring the previous configuration.
   */
  change(next: (current: BootstrapOptions) => BootstrapOptions): Promise<void>
  /** A new Envoy process starts. */
  restarted(): void
  /** Whether the configuration refers to this file; draining clusters may refer to earlier files. */
  namesFile(path: string): boolean
  close(): void
}

/** Throws an Error for an invalid option. */
export const createEnvoyConfiguration = (
  { log, discovery }: { readonly log: Log; readonly discovery: Discovery },
  { options, edge = true, addressesMs = ADDRESSES_MS }: ConfigurationOptions,
): EnvoyConfiguration => {
  let current = options
  /** The settings of `snapshot`. Settling the same options again yields other addresses when the machine's changed. */
  let settings = settle(options)
  let snapshot = snapshotOf(settings)
  // Envoy is not running yet; the supervisor checks its start.
  if (edge) discovery.serve(snapshot, ACK_TIMEOUT_MS).catch(() => {})

  /** Clusters that requests in flight from before a change may still use, by name. */
  const draining = new Map<string, Resource>()
  const withDraining = (next: Snapshot): Snapshot =>
    overlapping({ ...next, clusters: [...draining.values()] }, next)

  const drain = (clusters: readonly Resource[], limitMs: number): void => {
    for (const cluster of clusters) draining.set(cluster.name, cluster)
    setTimeout(() => {
      // A cluster that was used and drained again is another object with its own timer.
      const over = clusters.filter((cluster) => draining.get(cluster.name) === cluster)
      if (over.length === 0) return
      for (const { name } of over) draining.delete(name)
      runExclusive(() => discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS)).catch(() => {})
    }, limitMs).unref()
  }

  /** Offers old and new clusters, then references to the new ones, then removes the old ones that are not draining. */
  const move = async (before: Snapshot, next: Snapshot, limitMs: number): Promise<void> => {
    const both = overlapping(before, next)
    await discovery.serve(withDraining({ ...before, clusters: both.clusters }), ACK_TIMEOUT_MS)
    await discovery.serve(withDraining(both), ACK_TIMEOUT_MS)
    drain(drainingClusters(before.clusters, next.clusters), limitMs)
    await discovery.serve(withDraining(next), ACK_TIMEOUT_MS)
  }

  const run = async (next: (current: BootstrapOptions) => BootstrapOptions): Promise<void> => {
    const options = next(current)
    if (options === current) return
    const settled = settle(options)
    const nextSnapshot = snapshotOf(settled)
    if (edge && !isSame(snapshot, nextSnapshot))
      try {
        await move(snapshot, nextSnapshot, settings.uploadTimeoutMs)
      } catch (error) {
        log.error({ nacked: error instanceof NackError ? error.nacked : [] }, String(error))
        discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS).catch(() => {})
        throw error
      }
    current = options
    settings = settled
    snapshot = nextSnapshot
  }

  const mutex = createKeyedMutex()
  const runExclusive = <T>(work: () => Promise<T>): Promise<T> => mutex('', work)
  const change: EnvoyConfiguration['change'] = (next) => runExclusive(() => run(next))
  const watchingAddresses = setInterval(() => {
    if (settings.egress.ownAddresses !== undefined || !hasNewAddress(settings.ownAddresses)) return
    change((current) => ({ ...current })).catch(() => {}) // logged there, and retried
  }, addressesMs).unref()
  return {
    get options() {
      return current
    },
    get settings() {
      return settings
    },
    change,
    restarted: () => {
      discovery.restarted()
      if (draining.size === 0) return
      // A new process has no requests in flight. A running change adds its draining clusters later.
      draining.clear()
      runExclusive(() => discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS)).catch(() => {})
    },
    namesFile: (path) => JSON.stringify(withDraining(snapshot)).includes(JSON.stringify(path)),
    close: () => clearInterval(watchingAddresses),
  }
}
