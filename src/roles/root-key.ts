import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { findKeyProvider } from '../kernel/services/key-providers.ts'
import { newProvidedKey, type ProvidedKey, placeOf, providedKey } from '../keys/kms-root-key.ts'
import { loadRootKey } from '../keys/root-key.ts'
import { rootChangeIn } from '../keys/root-key-rotation.ts'
import type { Store } from '../store/types.ts'
import { PLUGINS_DIR } from './plugins-dir.ts'

const BUILT_IN = /^(file|env|passphrase):/

/** True when a plugin's key management service wraps the root key of this source. */
export const isProvided = (source: string | undefined): source is string =>
  source !== undefined && source !== '' && !BUILT_IN.test(source)

/**
 * The root key of a source (SIDEVAULT_ROOT_KEY). `existing`: never made. `first`: made when there is none. `next`: what
 * the store is to change to; a change that has begun goes on with the key it was begun with.
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
  const provider = await findKeyProvider(scheme, { sources: config.plugins, pluginsDir: PLUGINS_DIR, bases })
  const place = placeOf(source.slice(scheme.length + 1), env)
  const rows = await store.keys.keys('')
  if (how !== 'next' || rootChangeIn(rows) !== undefined) {
    const key = await providedKey(provider, rows, place)
    if (key !== undefined) return { key }
    if (how === 'existing')
      throw new AppError(
        'invalid',
        'This store holds no root key that the key provider of SIDEVAULT_ROOT_KEY has wrapped. Set it to where the root key comes from; nothing was changed.',
      )
  }
  return newProvidedKey(provider, rows, place, systemClock.now())
}
