/** Loads and checks plugins beside the command: code that never returns, or ends its process, ends here. */
import { parentPort, workerData } from 'node:worker_threads'
import { createLog } from '../../common/log.ts'
import { createExpressions } from '../../expressions/expressions.ts'
import { checkConfigNames } from '../../kernel/check-plugin.ts'
import { loadPlugins } from '../../kernel/load.ts'
import { idleServices } from '../idle-services.ts'
import type { InspectRequest, InspectWord } from './inspect.ts'
import { summaryOf } from './summary.ts'

const say = (word: InspectWord) => parentPort?.postMessage(word)

const request: InspectRequest = workerData
const log = createLog('plugins', 'warn')
const { loaded, plugins, faults } = await loadPlugins(
  {
    createExpressions,
    servicesFor: (plugin, config) => idleServices(plugin, config, log),
  },
  { ...request, onProgress: (place) => say({ kind: 'progress', ...(place === undefined ? {} : { place }) }) },
)
const names = plugins.map(({ plugin }) => plugin.name)
if (request.strict) checkConfigNames(request.configs, names, faults)
const summaries = plugins.map(({ plugin, place }) =>
  summaryOf(plugin, place, loaded.find((each) => each.plugin === plugin)?.contribution),
)
say({ kind: 'done', plugins: summaries, faults })
