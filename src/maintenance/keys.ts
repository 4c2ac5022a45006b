import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { loadRoot } from '../roles/root-key.ts'
import { type Print, withVault } from './open-vault.ts'
import { destroyOldKeys, type RotateDeps, rotateData } from './rotate-data.ts'
import { type RotateRootOptions, rotateRoot } from './rotate-root.ts'

/** `sidevault keys rotate-root`. */
export const runRotateRoot = (config: Config, options: RotateRootOptions, print: Print): Promise<void> =>
  withVault(config, (vault) => {
    const load = async () =>
      (await loadRoot(config, vault.store, config.rootKeySource?.reveal(), 'existing')).key
    const next = (source: string) => loadRoot(config, vault.store, source, 'next')
    return rotateRoot({ vault, load, next, clock: systemClock, print }, config, options)
  })

/** Runs `work` for one tenant, or for all; false when one was not completed. */
const eachTenant = (
  config: Config,
  tenant: string | undefined,
  print: Print,
  work: (deps: RotateDeps, tenantId: string) => Promise<boolean>,
): Promise<boolean> =>
  withVault(config, async (vault) => {
    const ids = tenant === undefined ? (await vault.store.tenants.list()).map(({ id }) => id) : [tenant]
    let isComplete = true
    for (const id of ids)
      try {
        isComplete = (await work({ vault, clock: systemClock, print }, id)) && isComplete
      } catch (thrown) {
        if (tenant !== undefined || !(thrown instanceof AppError)) throw thrown
        // It was deleted in the meantime.
        if (thrown.code === 'tenant_not_found') continue
        if (thrown.code !== 'internal') throw thrown
        print(`BROKEN  tenant "${id}": ${thrown.message}`)
        isComplete = false
      }
    return isComplete
  })

/** `sidevault keys rotate-data`. */
export const runRotateData = (config: Config, tenant: string | undefined, print: Print): Promise<boolean> =>
  eachTenant(config, tenant, print, rotateData)

/** `sidevault keys destroy-old`. */
export const runDestroyOldKeys = (
  config: Config,
  tenant: string | undefined,
  print: Print,
): Promise<boolean> => eachTenant(config, tenant, print, destroyOldKeys)
