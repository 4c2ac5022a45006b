import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { PLUGINS_DIR } from '../kernel/load/plugins-dir.ts'
import { findKeyProvider } from '../kernel/services/key-providers.ts'
import { newProvidedKey, type ProvidedKey, placeOf, providedKey } from '../keys/kms-root-key.ts'
import { loadRootKey, RootKeySourceError } from '../keys/root-key.ts'
import { rootChangeIn } from '../keys/root-key-rotation.ts'
import type { Store } from '../store/store.ts'

const BUILT_IN = /^(file|env|passphrase):/

/** True if a key provider of a plugin wraps the root key of this source. */
export const isProvided = (source: string | undefined): source is string =>
  source !== undefined && source !== '' && !BUILT_IN.test(source)

/**
 * The root key of a source (SIDEVAULT_ROOT_KEY). `existing`: never created. `first`: created if there is none. `next`:
 * the target of a rotation; a rotation in progress continues with its own key.
 */
export const loadRoot = async (
  config: Pick<Config, 'dataDir' | 'plugins' | 'pluginBases'>,
  store: Pick<Store, 'keys'>,
  source: string | undefined,
  how: 'existing' | 'first' | 'next',
): Promise<ProvidedKey> => {
  const { env } = process
  if (!isProvided(source)) {
    const { dataDir } = config
    return { key: await loadRootKey(source, { dataDir, create: how !== 'existing', env }) }
  }
  const scheme = source.slice(0, source.indexOf(':'))
  const bases = config.pluginBases
  const plugins = { sources: config.plugins, pluginsDir: PLUGINS_DIR, bases }
  const provider = await findKeyProvider(scheme, plugins).catch((error: unknown) => {
    throw error instanceof AppError ? new RootKeySourceError(error.message) : error
  })
  const place = placeOf(source.slice(scheme.length + 1), env)
  const rows = await store.keys.keys('')
  if (how !== 'next' || rootChangeIn(rows) !== undefined) {
    const key = await providedKey(provider, rows, place)
    if (key !== undefined) return { key }
    if (how === 'existing')
      throw new AppError(
        'invalid',
        'The store has no root key wrapped by the key provider of SIDEVAULT_ROOT_KEY. Set it to the source of the root key. Nothing was changed.',
      )
  }
  return newProvidedKey(provider, rows, place, systemClock.now())
}
