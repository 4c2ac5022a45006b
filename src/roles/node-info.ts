import { Gauge } from '@prometheus-io/client'
import { programVersion } from '../common/version.ts'
import type { Runtime } from './runtime.ts'

/** Metrics of what a node runs: the version, its plugins, and the age of the root key. */
export const describeNode = ({
  kernel,
  store,
  metrics: { registry },
}: Pick<Runtime, 'kernel' | 'store' | 'metrics'>): void => {
  const build = new Gauge({
    name: 'sidevault_build_info',
    help: '1, with the version of Sidevault.',
    labelNames: ['version'],
    aggregator: 'max',
    registers: [registry],
  })
  build.set({ version: programVersion() }, 1)
  const plugins = new Gauge({
    name: 'sidevault_plugin_info',
    help: '1 for each loaded plugin, by name and version.',
    labelNames: ['plugin', 'version'],
    // All processes of a node load the same ones.
    aggregator: 'max',
    registers: [registry],
  })
  for (const { plugin } of kernel.registry.plugins)
    plugins.set({ plugin: plugin.name, version: plugin.version }, 1)
  const rootKey = new Gauge({
    name: 'sidevault_root_key_created_timestamp_seconds',
    help: 'Time when the present root key came into use, in seconds since 1970.',
    aggregator: 'max',
    registers: [registry],
    collect: () => void refresh(),
  })
  /** For the next scrape: metrics do not wait for a store that does not respond. */
  const refresh = async (): Promise<void> => {
    const rows = await store.keys.keys('').catch(() => [])
    const check = rows.find(({ purpose }) => purpose === 'check')
    if (check !== undefined) rootKey.set(check.created_at / 1_000)
  }
  void refresh()
}
