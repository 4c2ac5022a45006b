import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../common/json.ts'
import type { Plugin } from '../sdk/index.ts'
import { declarativePlugin } from './declarative.ts'
import { type Fault, faultsAt } from './faults.ts'

/** `*`, a folder, an npm name, a `.json` file; or a plugin itself. */
export type PluginSource = string | Plugin

export interface DiscoverOptions {
  readonly sources: readonly PluginSource[]
  /** The folder that `*` stands for. */
  readonly pluginsDir: string
  /** Where relative paths start, and npm names are looked up. */
  readonly base: string
}

/** A plugin's module, not yet checked, and where it came from. */
export interface Candidate {
  readonly place: string
  readonly value: unknown
}

const ENTRIES = ['index.ts', 'index.js'] as const

const entryOf = (folder: string): string | undefined =>
  ENTRIES.map((name) => join(folder, name)).find((path) => existsSync(path))

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory()

/** A scoped npm name holds a slash too. */
const looksLikePath = (source: string) =>
  source.startsWith('.') || isAbsolute(source) || (!source.startsWith('@') && source.includes('/'))

/** The first line of what a module threw on its way up. */
const reason = (thrown: unknown) =>
  (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!.slice(0, 300)

const importNpm = async (name: string, base: string): Promise<Record<string, unknown>> => {
  try {
    return await import(name)
  } catch (thrown) {
    if (!isObject(thrown) || thrown.code !== 'ERR_MODULE_NOT_FOUND' || !reason(thrown).includes(`'${name}'`))
      throw thrown
    return await import(pathToFileURL(createRequire(join(base, 'package.json')).resolve(name)).href)
  }
}

/**
 * Loads what the plugin list names, each thing once, in the order of the list (`*` in alphabetical order). What cannot
 * be loaded is a fault, and the rest is loaded all the same, so that all faults are known at once.
 */
export const discover = async (options: DiscoverOptions, faults: Fault[]): Promise<readonly Candidate[]> => {
  const candidates: Candidate[] = []
  const seen = new Set<string>()

  const loadModule = async (place: string, load: () => Promise<Record<string, unknown>>) => {
    const at = faultsAt(place, faults)
    try {
      const loaded = await load()
      if (loaded.plugin === undefined)
        at.add(
          'its module exports no "plugin".',
          'Export it by name: export const plugin = definePlugin({ … }).',
        )
      else candidates.push({ place, value: loaded.plugin })
    } catch (thrown) {
      at.add(
        `its module cannot be loaded: ${reason(thrown)}.`,
        'Repair the module, or remove it from the list.',
      )
    }
  }

  const loadFolder = async (place: string, folder: string) => {
    const entry = entryOf(folder)
    if (entry === undefined) {
      faultsAt(place, faults).add(
        'the folder holds neither index.ts nor index.js.',
        'Add one that exports "plugin", or remove the folder from the list.',
      )
      return
    }
    const real = realpathSync(entry)
    if (seen.has(real)) return
    seen.add(real)
    await loadModule(place, () => import(pathToFileURL(real).href))
  }

  const loadJson = async (place: string, path: string) => {
    const at = faultsAt(place, faults)
    let parsed: unknown
    try {
      const real = realpathSync(path)
      if (seen.has(real)) return
      seen.add(real)
      parsed = JSON.parse(await readFile(real, 'utf8'))
    } catch (thrown) {
      at.add(
        `the file cannot be read as JSON: ${reason(thrown)}.`,
        'Give the path of a declarative plugin, or remove it from the list.',
      )
      return
    }
    const plugin = declarativePlugin(parsed, at)
    if (plugin) candidates.push({ place, value: plugin })
  }

  for (const source of options.sources) {
    if (typeof source !== 'string') {
      candidates.push({ place: `plugin "${source?.name}"`, value: source })
      continue
    }
    const place = `plugin list › "${source}"`
    const path = resolve(options.base, source)
    if (source === '*') {
      if (!isFolder(options.pluginsDir)) {
        faultsAt(place, faults).add(
          'the folder of plugins does not exist.',
          'Create it, or name plugins one by one.',
        )
        continue
      }
      for (const entry of readdirSync(options.pluginsDir, { withFileTypes: true }).sort((a, b) =>
        a.name < b.name ? -1 : 1,
      )) {
        const folder = join(options.pluginsDir, entry.name)
        if (!entry.name.startsWith('.') && isFolder(folder))
          await loadFolder(`plugins${sep}${entry.name}`, folder)
      }
    } else if (source.endsWith('.json')) await loadJson(place, path)
    else if (isFolder(path)) await loadFolder(place, path)
    else if (looksLikePath(source))
      faultsAt(place, faults).add(
        'there is no such folder.',
        'Give the path of a folder with index.ts or index.js, an npm name, or a .json file.',
      )
    else if (!seen.has(source)) {
      seen.add(source)
      await loadModule(place, () => importNpm(source, options.base))
    }
  }
  return candidates
}
