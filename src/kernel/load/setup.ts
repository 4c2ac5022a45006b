import { TimeoutError, withTimeout } from '../../common/with-timeout.ts'
import type { Contribution, Plugin, PluginContext } from '../../sdk/index.ts'
import { checkContributionShape } from '../check/contribution.ts'
import { type Issue, issuesAt, thrownAt } from '../check/issues.ts'
import { placeOf } from '../check/plugin.ts'

/** Timeout of a setup, ms: it only returns declarations. */
const SETUP_TIMEOUT = 10_000

/** The result of a plugin's setup, or undefined with an issue. `timeout` in ms. */
export const setUp = async (
  plugin: Plugin,
  context: PluginContext,
  issues: Issue[],
  timeout = SETUP_TIMEOUT,
): Promise<Contribution | undefined> => {
  const at = issuesAt(`${placeOf(plugin)} › setup`, issues)
  try {
    const result = await withTimeout(timeout, () => plugin.setup(context))
    return checkContributionShape(plugin, result, issues) ? result : undefined
  } catch (thrown) {
    if (thrown instanceof TimeoutError)
      at.add(`it did not settle within ${timeout / 1000} s.`, 'Return declarations; do work in start().')
    else at.add(`it threw: ${thrownAt(thrown)}.`, 'Repair the plugin, or remove it from the list.')
    return undefined
  }
}
