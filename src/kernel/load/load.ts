import type { Clock } from '../../common/clock.ts'
import type { Log } from '../../common/log.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { Filter, Operation, Plugin } from '../../sdk/index.ts'
import { checkConflicts } from '../check/conflicts.ts'
import { checkContribution, FILTER_NAME } from '../check/contribution.ts'
import type { Issue } from '../check/issues.ts'
import { checkMessages } from '../check/messages.ts'
import { checkConfig, checkPlugins, placeOf } from '../check/plugin.ts'
import { openPortsOf } from '../check/port.ts'
import { createContext } from '../services/context.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { LoadedPlugin } from '../types.ts'
import { digestOfDeclarations, type ValidationCache } from './declarations-digest.ts'
import { discover, type PluginSource } from './discover.ts'
import { setUp } from './setup.ts'

interface LoadDeps {
  readonly createExpressions: (options: { filters: Readonly<Record<string, Filter>> }) => Expressions
  readonly headerPrefixes: readonly string[]
  readonly clock: Clock
  readonly log: Log
  /** Dependencies of the plugins' services, undefined until all are checked. Default: no plugin is started. */
  readonly services?: () => ServiceDeps | undefined
}

export interface LoadOptions {
  /** `SIDEVAULT_PLUGINS`: `*`, folders, npm names, JSON files; or plugins themselves. */
  readonly plugins: readonly PluginSource[]
  /** The folder of `*`. */
  readonly pluginsDir: string
  /** Where relative paths of the list start and npm names are looked up, in order. Default: the working directory. */
  readonly bases?: readonly string[]
  /** Configuration of plugins by name. */
  readonly configs?: Readonly<Record<string, unknown>>
  /** Timeout of one plugin's setup, ms. */
  readonly setupTimeout?: number
  /** This process serves operations, so they are checked. Default true; false in gateways. */
  readonly operations?: boolean
  /** Skips checks of operations while their declarations are unchanged. Default: always checked. */
  readonly validationCache?: ValidationCache
  /**
   * Called with the location whose code runs next, so that the supervisor can name code that never returns; undefined
   * when the code of plugins has returned.
   */
  readonly onProgress?: (place: string | undefined) => void
}

/** Result of loading the plugin list. */
interface Loading {
  /** Plugins that could be set up, in the order of the list. */
  readonly loaded: readonly LoadedPlugin[]
  /** All plugins with a valid outer form, set up or not, and their locations. */
  readonly plugins: readonly {
    readonly plugin: Plugin
    readonly place: string
    readonly folder: string | undefined
  }[]
  /** The expression language with the filters of all plugins. */
  readonly expressions: Expressions
  /** Issues of all plugins; none of them starts while there is one. */
  readonly issues: Issue[]
}

/** The valid filters of all plugins, without those of the language. */
const filtersOf = (
  loaded: readonly LoadedPlugin[],
  builtIn: ReadonlySet<string>,
): Readonly<Record<string, Filter>> =>
  Object.fromEntries(
    loaded
      .flatMap(({ contribution }) => Object.entries(contribution.filters ?? {}))
      .filter(
        ([name, filter]) => FILTER_NAME.test(name) && !builtIn.has(name) && typeof filter === 'function',
      ),
  )

/** A duplicate operation is reported once: its messages would be reported as issues of the other. */
const withoutTwins = (loaded: readonly LoadedPlugin[]): readonly LoadedPlugin[] => {
  const names = new Set<unknown>()
  const isFirst = ({ rpc }: Operation) => names.size < names.add(rpc).size
  return loaded.map(({ plugin, contribution }) => ({
    plugin,
    contribution: { ...contribution, operations: (contribution.operations ?? []).filter(isFirst) },
  }))
}

/** Loads, sets up and checks the plugins of the list, and starts nothing. */
export const loadPlugins = async (deps: LoadDeps, options: LoadOptions): Promise<Loading> => {
  const { plugins: sources, pluginsDir, bases = [process.cwd()], configs = {}, onProgress } = options
  const { headerPrefixes, clock, log, services = () => undefined } = deps
  const issues: Issue[] = []
  const candidates = await discover(
    {
      sources,
      pluginsDir,
      bases,
      ...(onProgress === undefined ? {} : { onProgress }),
    },
    issues,
  )
  const plugins = checkPlugins(candidates, issues)
  const loaded: LoadedPlugin[] = []
  const settling = plugins.map(async (plugin) => {
    const config = checkConfig(plugin, configs[plugin.name], issues)
    onProgress?.(`${placeOf(plugin)} › setup`)
    const context = createContext(
      plugin,
      { config, headerPrefixes, clock, log: log.child({ plugin: plugin.name }) },
      services,
    )
    const contribution = await setUp(plugin, context, issues, options.setupTimeout)
    return contribution && { plugin, contribution }
  })
  onProgress?.(undefined)
  loaded.push(...(await Promise.all(settling)).filter((result) => result !== undefined))

  const builtIn = new Set(deps.createExpressions({ filters: {} }).filters.keys())
  const expressions = deps.createExpressions({ filters: filtersOf(loaded, builtIn) })
  const permissions = new Set(
    loaded.flatMap(({ contribution }) => (contribution.permissions ?? []).map(({ type }) => type)),
  )
  const { operations: serves = true, validationCache } = options
  const digest = serves && validationCache ? digestOfDeclarations(loaded) : undefined
  const operations = serves && !(digest !== undefined && validationCache?.has(digest))
  const known = { permissions, expressions, builtIn, openPorts: openPortsOf(loaded), operations }
  for (const { plugin, contribution } of loaded) {
    onProgress?.(`${placeOf(plugin)} › checks`)
    checkContribution(plugin, contribution, known, issues)
  }
  onProgress?.(undefined)
  checkConflicts(loaded, issues)
  if (serves) checkMessages(withoutTwins(loaded), issues)
  if (operations && digest !== undefined && issues.length === 0) validationCache?.keep(digest)
  const comesFrom = (plugin: Plugin) => {
    const { place = '', folder } = candidates.find(({ value }) => value === plugin) ?? {}
    return { plugin, place, folder }
  }
  return {
    loaded,
    plugins: plugins.map(comesFrom),
    expressions,
    issues,
  }
}
