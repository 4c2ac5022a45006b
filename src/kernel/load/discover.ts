import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { TimeoutError, withTimeout } from '../../common/with-timeout.ts'
import type { Plugin } from '../../sdk/index.ts'
import { firstLine, type Issue, issuesAt, thrownAt } from '../check/issues.ts'
import { declarativePlugin } from './declarative.ts'
import { fixOf, importFile, importNpm, isAbsent, type Module, provideSdk } from './import-module.ts'

/** `*`, a folder, an npm name, a `.json` file; or a plugin itself. */
export type PluginSource = string | Plugin

interface DiscoverOptions {
  readonly sources: readonly PluginSource[]
  /** The folder of `*`. */
  readonly pluginsDir: string
  /** Folders where relative paths start and npm names are looked up, in order; the first that has it counts. */
  readonly bases: readonly string[]
  /** Called with the location of each module before its code runs. */
  readonly onProgress?: (place: string) => void
  /** Timeout of one module, ms. */
  readonly timeout?: number
}

/** Timeout of one module, ms: a module only declares. */
const LOAD_TIMEOUT = 10_000

/** A plugin's module, not yet checked, and its location. */
export interface Candidate {
  readonly place: string
  readonly value: unknown
  /** Folder of the plugin, when the list names one. */
  readonly folder?: string
}

const ENTRIES = ['index.ts', 'index.js'] as const

const entryOf = (folder: string): string | undefined =>
  ENTRIES.map((name) => join(folder, name)).find((path) => existsSync(path))

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory()

/** A scoped npm name holds a slash too. */
const looksLikePath = (source: string) =>
  source.startsWith('.') || isAbsolute(source) || (!source.startsWith('@') && source.includes('/'))

/** The list names a plugin that does not exist. */
class Absent extends Error {}

/**
 * Loads the plugins of the list, each once, in the order of the list (`*` in alphabetical order). A plugin that cannot
 * be loaded is an issue; the rest is loaded nevertheless, so that all issues are reported at once.
 */
export const discover = async (options: DiscoverOptions, issues: Issue[]): Promise<readonly Candidate[]> => {
  provideSdk()
  const candidates: Candidate[] = []
  const seen = new Set<string>()
  const { timeout = LOAD_TIMEOUT } = options

  const loadModule = async (place: string, load: () => Promise<Module>, folder?: string) => {
    const at = issuesAt(place, issues)
    options.onProgress?.(place)
    try {
      const loaded = await withTimeout(timeout, load)
      if (loaded.plugin === undefined)
        at.add(
          'its module exports no "plugin".',
          'Export it by name: export const plugin = definePlugin({ … }).',
        )
      else candidates.push({ place, value: loaded.plugin, ...(folder === undefined ? {} : { folder }) })
    } catch (thrown) {
      if (thrown instanceof TimeoutError)
        at.add(
          `its module did not load within ${timeout / 1000} s.`,
          'Declare at the top of a module; do work in start().',
        )
      else if (thrown instanceof Absent)
        at.add(thrown.message, 'Install the package there with npm, or correct the name.')
      else at.add(`its module cannot be loaded: ${thrownAt(thrown)}.`, fixOf(thrown))
    }
  }

  const loadNpm = async (name: string): Promise<Module> => {
    for (const base of [...options.bases, options.pluginsDir])
      try {
        return await importNpm(name, base)
      } catch (thrown) {
        if (!isAbsent(thrown, name)) throw thrown
      }
    throw new Absent(
      `there is no folder and no npm package of this name, looked for from ${options.bases.join(' and ')}.`,
    )
  }

  const loadFolder = async (place: string, folder: string) => {
    const entry = entryOf(folder)
    if (entry === undefined) {
      issuesAt(place, issues).add(
        'the folder holds neither index.ts nor index.js.',
        'Add one that exports "plugin", or remove the folder from the list.',
      )
      return
    }
    const real = realpathSync(entry)
    if (seen.has(real)) return
    seen.add(real)
    await loadModule(place, () => importFile(real), folder)
  }

  const loadJson = async (place: string, path: string) => {
    const at = issuesAt(place, issues)
    let parsed: unknown
    try {
      const real = realpathSync(path)
      if (seen.has(real)) return
      seen.add(real)
      parsed = JSON.parse(await readFile(real, 'utf8'))
    } catch (thrown) {
      at.add(
        `the file cannot be read as JSON: ${firstLine(thrown)}.`,
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
    const paths = options.bases.map((base) => resolve(base, source))
    const path = paths.find((candidate) => existsSync(candidate))
    if (source === '*') {
      if (!isFolder(options.pluginsDir)) {
        issuesAt(place, issues).add(
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
    } else if (path !== undefined && source.endsWith('.json')) await loadJson(place, path)
    else if (path !== undefined && isFolder(path)) await loadFolder(place, path)
    else if (looksLikePath(source) || source.endsWith('.json'))
      issuesAt(place, issues).add(
        `there is no such ${source.endsWith('.json') ? 'file' : 'folder'}, looked for from ${options.bases.join(' and ')}.`,
        'Give the path of a folder with index.ts or index.js, an npm name, or a .json file.',
      )
    else if (!seen.has(source)) {
      seen.add(source)
      await loadModule(place, () => loadNpm(source))
    }
  }
  return candidates
}
