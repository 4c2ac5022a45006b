import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { openRuntime, type Runtime } from '../roles/runtime.ts'
import type { Collection } from '../sdk/index.ts'
import { type OperatedVault, recorder, rejectAbsent } from './open-vault.ts'

export interface OperatedKernel extends OperatedVault, Pick<Runtime, 'kernel'> {
  /** Collections of all plugins. */
  readonly collections: readonly Collection[]
}

/**
 * `withVault` with the plugins, for commands that interpret values. They do no work in the background: a command sends
 * nothing and changes nothing else.
 */
export const withKernel = async <T>(
  config: Config,
  work: (vault: OperatedKernel) => Promise<T>,
): Promise<T> => {
  rejectAbsent(config)
  const log = createLog('operator', config.logLevel)
  const runtime = await openRuntime(config, { name: 'operator', owner: false, background: false, log })
  try {
    const { store, keys, journal, kernel } = runtime
    const collections = kernel.registry.plugins.flatMap(({ contribution }) => contribution.collections ?? [])
    return await work({ store, keys, journal, kernel, collections, record: recorder(journal) })
  } finally {
    await runtime.close()
  }
}
