import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { type Issue, PluginIssues } from '../kernel/check/issues.ts'
import { PLUGINS_DIR } from '../kernel/load/plugins-dir.ts'
import { findKeyProvider, providerConfig } from '../kernel/services/key-providers.ts'
import type { HealthSource } from '../kernel/types.ts'
import { newProvidedKey, type ProvidedKey, placeOf, providedKey } from '../keys/kms-root-key.ts'
import { loadRootKey, RootKeySourceError } from '../keys/root-key.ts'
import { rootChangeIn } from '../keys/root-key-rotation.ts'
import type { Store } from '../store/store.ts'

const BUILT_IN = /^(file|env|passphrase):/

/** True if a key provider of a plugin wraps the root key of this source. */
export const isProvided = (source: string | undefined): source is string =>
  source !== undefined && source !== '' && !BUILT_IN.test(source)

interface LoadedRoot extends ProvidedKey {
  /** Of its key provider, if that reports how it is. */
  readonly health?: HealthSource
}

/**
 * The root key of a source (SIDEVAULT_ROOT_KEY). `existing`: never created. `first`: created if there is none. `next`:
 * the target of a rotation; a rotation in progress continues with its own key.
 */
export const loadRoot = async (
  config: Pick<Config, 'dataDir' | 'plugins' | 'pluginBases' | 'pluginConfig'>,
  store: Pick<Store, 'keys'>,
  source: string | undefined,
  how: 'existing' | 'first' | 'next',
): Promise<LoadedRoot> => {
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
  const issues: Issue[] = []
  const settings = providerConfig(provider, config.pluginConfig, issues)
  if (issues.length > 0) throw new RootKeySourceError(new PluginIssues(issues).message)
  const where = { address: source.slice(scheme.length + 1), env, config: settings }
  const place = placeOf(where)
  const ask = provider.health?.bind(provider)
  const health: Pick<LoadedRoot, 'health'> = ask
    ? {
        health: {
          kind: 'key-provider',
          component: `key-provider:${scheme}`,
          health: (signal) => ask({ ...where, signal }),
        },
      }
    : {}
  const rows = await store.keys.keys('')
  if (how !== 'next' || rootChangeIn(rows) !== undefined) {
    const key = await providedKey(provider, rows, place)
    if (key !== undefined) return { key, ...health }
    if (how === 'existing')
      throw new AppError(
        'invalid',
        'The store has no root key wrapped by the key provider of SIDEVAULT_ROOT_KEY. Set it to the source of the root key. Nothing was changed.',
      )
  }
  return { ...(await newProvidedKey(provider, rows, place, systemClock.now())), ...health }
}
