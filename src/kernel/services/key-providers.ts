import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import type { KeyProvider } from '../../sdk/key-provider.ts'
import { type Issue, issuesAt, thrownAt } from '../check/issues.ts'
import { checkValues } from '../check/plugin.ts'
import type { PluginSource } from '../load/discover.ts'
import { fixOf, importFile, importNpm, isAbsent, type Module, provideSdk } from '../load/import-module.ts'

const ENTRIES = ['key-provider.ts', 'key-provider.js'] as const

const entryOf = (folder: string): string | undefined =>
  ENTRIES.map((name) => join(folder, name)).find((path) => existsSync(path))

const SCHEME = /^[a-z][a-z0-9-]*$/

const isProvider = (value: unknown): value is KeyProvider =>
  isObject(value) &&
  typeof value.scheme === 'string' &&
  SCHEME.test(value.scheme) &&
  typeof value.wrap === 'function' &&
  typeof value.unwrap === 'function' &&
  (value.config === undefined || isObject(value.config)) &&
  ['undefined', 'function'].includes(typeof value.health)

/** Where plugins are looked for. */
interface PluginList {
  readonly sources: readonly PluginSource[]
  readonly pluginsDir: string
  readonly bases: readonly string[]
}

/** The key provider of a plugin's folder: undefined without the module, `none` when it exports no key provider. */
export const keyProviderIn = async (folder: string): Promise<KeyProvider | 'none' | undefined> => {
  const entry = entryOf(folder)
  if (entry === undefined) return undefined
  const { keyProvider } = await importFile(entry)
  return isProvider(keyProvider) ? keyProvider : 'none'
}

/**
 * The key provider of a scheme among the plugins of the list. Only modules named `key-provider` are imported, that of
 * the folder named like the scheme first: nothing else of a plugin runs before the service has its keys. `invalid` when
 * none has it.
 */
export const findKeyProvider = async (scheme: string, options: PluginList): Promise<KeyProvider> => {
  provideSdk()
  const { sources, pluginsDir, bases } = options
  const names = sources.filter((source) => typeof source === 'string')
  const folders = names.flatMap((source) => {
    if (source !== '*') return bases.map((base) => resolve(base, source))
    const all = readdirSync(pluginsDir).map((name) => join(pluginsDir, name))
    return [join(pluginsDir, scheme), ...all]
  })
  const loaders: (() => Promise<Module | undefined>)[] = [
    ...new Set(folders.flatMap((folder) => entryOf(folder) ?? [])),
  ].map((path) => () => importFile(path))
  for (const name of names)
    if (name !== '*' && !name.endsWith('.json') && !name.startsWith('.'))
      for (const base of bases)
        loaders.push(() =>
          importNpm(`${name}/key-provider`, base).catch((thrown: unknown) => {
            if (isAbsent(thrown, name) || isNotExported(thrown)) return undefined
            throw thrown
          }),
        )
  for (const load of loaders) {
    const provider = (await load())?.keyProvider
    if (isProvider(provider) && provider.scheme === scheme) return provider
  }
  throw new AppError(
    'invalid',
    'SIDEVAULT_ROOT_KEY is none of file:<path>, env:<NAME>, passphrase:<text> and passphrase:env:<NAME>, and no plugin of SIDEVAULT_PLUGINS brings a key provider of its scheme.',
  )
}

const isNotExported = (thrown: unknown): boolean =>
  isObject(thrown) && ['ERR_PACKAGE_PATH_NOT_EXPORTED', 'ERR_MODULE_NOT_FOUND'].includes(String(thrown.code))

/** The configuration of a key provider with its defaults, of `<scheme>:` in `configs`. */
export const providerConfig = (
  { scheme, config: schema }: KeyProvider,
  configs: Readonly<Record<string, unknown>>,
  issues: Issue[],
): unknown => {
  const at = issuesAt(`plugin configuration › "${scheme}:"`, issues)
  return checkValues({ owner: 'key provider', schema }, configs[`${scheme}:`], at)
}

/** Adds the issues of all configurations of key providers, also of those whose scheme is not in use. */
export const checkProviderConfigs = async (
  configs: Readonly<Record<string, unknown>>,
  list: PluginList,
  issues: Issue[],
): Promise<void> => {
  for (const name of Object.keys(configs).filter((key) => key.endsWith(':')))
    try {
      providerConfig(await findKeyProvider(name.slice(0, -1), list), configs, issues)
    } catch (thrown) {
      const at = issuesAt(`plugin configuration › "${name}"`, issues)
      if (thrown instanceof AppError)
        at.add(
          'there is no key provider of this scheme.',
          'Add its plugin to the list, or remove its configuration.',
        )
      else at.add(`the module of a key provider cannot be loaded: ${thrownAt(thrown)}.`, fixOf(thrown))
    }
}
