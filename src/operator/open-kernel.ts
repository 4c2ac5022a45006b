import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { type Foundation, openFoundation } from '../roles/foundation.ts'
import type { Collection } from '../sdk/index.ts'
import { type OperatedVault, recorder, refuseAbsent } from './open-vault.ts'

export interface OperatedKernel extends OperatedVault, Pick<Foundation, 'kernel'> {
  /** Of all plugins. */
  readonly collections: readonly Collection[]
}

/** As `withVault`, with the plugins, for commands that must know what values mean. */
export const withKernel = async <T>(
  config: Config,
  work: (vault: OperatedKernel) => Promise<T>,
): Promise<T> => {
  refuseAbsent(config)
  const log = createLog('operator', config.logLevel)
  const foundation = await openFoundation(config, { name: 'operator', owner: false, log })
  try {
    const { store, keys, journal, kernel } = foundation
    const collections = kernel.registry.plugins.flatMap(({ contribution }) => contribution.collections ?? [])
    return await work({ store, keys, journal, kernel, collections, record: recorder(journal) })
  } finally {
    await foundation.close()
  }
}
