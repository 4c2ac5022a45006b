import { fileURLToPath } from 'node:url'
import { systemClock } from '../common/clock.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { createExpressions } from '../expressions/expressions.ts'
import { PluginFaults } from '../kernel/faults.ts'
import { loadPlugins } from '../kernel/load.ts'
import { createRegistry } from '../kernel/registry.ts'
import { createServices } from '../kernel/services.ts'
import type { Operation } from '../sdk/index.ts'

const PLUGINS_DIR = fileURLToPath(new URL('../../plugins', import.meta.url))

const nothing = (): never => {
  throw new Error('nothing runs here')
}

/** The operations of the configured plugins; nothing is started. Rejects with `PluginFaults`. */
export const loadOperations = async (
  config: Pick<Config, 'plugins' | 'pluginBases' | 'pluginConfig'>,
): Promise<readonly Operation[]> => {
  const log = createLog('plugins', 'warn')
  const { loaded, faults } = await loadPlugins(
    {
      createExpressions,
      servicesFor: (plugin, pluginConfig) =>
        createServices(plugin, pluginConfig, {
          // Services refuse to work before the start, which never comes here.
          store: {} as never,
          tenants: {} as never,
          keys: { mac: nothing },
          clock: systemClock,
          log: log.child({ plugin: plugin.name }),
          started: () => false,
          vault: nothing,
          tokenTypes: nothing,
          permissions: nothing,
          collectionsOf: nothing,
        }),
    },
    {
      plugins: config.plugins,
      pluginsDir: PLUGINS_DIR,
      bases: config.pluginBases,
      configs: config.pluginConfig,
    },
  )
  if (faults.length > 0) throw new PluginFaults(faults)
  return createRegistry(loaded).operations
}
