/** Loads and checks plugins in a worker thread, so that endless loops and `process.exit` do not affect the command. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../common/clock.ts'
import { createLog } from '../../common/log.ts'
import { createExpressions } from '../../expressions/expressions.ts'
import { checkCompiles } from '../../kernel/check/declaration.ts'
import { issuesAt, thrownAt } from '../../kernel/check/issues.ts'
import { checkConfigNames, placeOf } from '../../kernel/check/plugin.ts'
import { fixOf } from '../../kernel/load/import-module.ts'
import { loadPlugins } from '../../kernel/load/load.ts'
import { checkProviderConfigs, keyProviderIn, providerConfig } from '../../kernel/services/key-providers.ts'
import type { Plugin } from '../../sdk/index.ts'
import type { InspectMessage, InspectRequest } from './inspect.ts'
import { summaryOf } from './summary.ts'

const send = (message: InspectMessage) => parentPort?.postMessage(message)

const request: InspectRequest = workerData
const { loaded, plugins, issues } = await loadPlugins(
  { createExpressions, headerPrefixes: [], clock: systemClock, log: createLog('plugins', 'warn') },
  {
    ...request,
    onProgress: (place) => send({ kind: 'progress', ...(place === undefined ? {} : { place }) }),
  },
)
const names = plugins.map(({ plugin }) => plugin.name)
const { configs, plugins: sources, pluginsDir, bases } = request
if (request.strict) {
  checkConfigNames(configs, names, issues)
  await checkProviderConfigs(configs, { sources, pluginsDir, bases }, issues)
}
const schemes = new Map<Plugin, string>()
for (const { plugin, folder } of plugins) {
  if (folder === undefined) continue
  const place = `${placeOf(plugin)} › key-provider`
  const at = issuesAt(place, issues)
  send({ kind: 'progress', place })
  try {
    const provider = await keyProviderIn(folder)
    if (provider === 'none')
      at.add(
        'its module exports no key provider.',
        'Export it by name: export const keyProvider: KeyProvider = { scheme, wrap, unwrap }; a scheme is of a-z, 0-9 and "-".',
      )
    else if (provider !== undefined) {
      schemes.set(plugin, provider.scheme)
      const isConfigured = configs[`${provider.scheme}:`] !== undefined
      if (isConfigured && !request.strict) providerConfig(provider, configs, issues)
      if (!isConfigured && provider.config !== undefined) checkCompiles(provider.config, at.at('config'))
    }
  } catch (thrown) {
    at.add(`its module cannot be loaded: ${thrownAt(thrown)}.`, fixOf(thrown))
  }
}
const summaries = plugins.map(({ plugin, place }) =>
  summaryOf(plugin, place, {
    contribution: loaded.find((each) => each.plugin === plugin)?.contribution,
    scheme: schemes.get(plugin),
  }),
)
send({ kind: 'done', plugins: summaries, issues })
