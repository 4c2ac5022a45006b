import { systemClock } from '../common/clock.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { createExpressions } from '../expressions/expressions.ts'
import { PluginIssues } from '../kernel/check/issues.ts'
import { loadPlugins } from '../kernel/load/load.ts'
import { PLUGINS_DIR } from '../kernel/load/plugins-dir.ts'
import { createRegistry } from '../kernel/registry.ts'
import type { Registry } from '../kernel/types.ts'
import type { Operation } from '../sdk/index.ts'

/** The declarations of the configured plugins. Starts nothing. Rejects with `PluginIssues`. */
export const loadRegistry = async (
  config: Pick<Config, 'plugins' | 'pluginBases' | 'pluginConfig'>,
): Promise<Registry> => {
  const { loaded, issues } = await loadPlugins(
    { createExpressions, headerPrefixes: [], clock: systemClock, log: createLog('plugins', 'warn') },
    {
      plugins: config.plugins,
      pluginsDir: PLUGINS_DIR,
      bases: config.pluginBases,
      configs: config.pluginConfig,
    },
  )
  if (issues.length > 0) throw new PluginIssues(issues)
  return createRegistry(loaded)
}

/** The operations of the configured plugins. */
export const loadOperations = async (
  config: Parameters<typeof loadRegistry>[0],
): Promise<readonly Operation[]> => (await loadRegistry(config)).operations
