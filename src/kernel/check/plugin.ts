import { isObject } from '../../common/json.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Plugin } from '../../sdk/index.ts'
import type { Candidate } from '../load/discover.ts'
import { orderByRequirement } from '../load/order.ts'
import { type Issue, type Issues, issuesAt } from './issues.ts'

const NAME = /^[a-z][a-z0-9-]{0,49}$/
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/
const MEMBERS = ['api', 'name', 'version', 'requires', 'config', 'setup']

export const placeOf = (plugin: Plugin): string => `plugin "${plugin.name}"`

const checkShape = (value: Record<string, unknown>, issues: Issues) => {
  const { api, name, version, requires, config, setup } = value
  if (api !== 1)
    issues.add(
      `it is written for plugin API ${JSON.stringify(api) ?? 'undefined'}.`,
      'This service speaks api: 1; install a release of the plugin for it.',
    )
  if (typeof name !== 'string' || !NAME.test(name))
    issues.add(
      'its name is not valid.',
      'Use lower-case letters, digits and dashes, a letter first, at most 50.',
    )
  if (typeof version !== 'string' || !VERSION.test(version))
    issues.add('its version is not a semantic version.', 'Write it like "1.0.0".')
  if (
    requires !== undefined &&
    !(Array.isArray(requires) && requires.every((item) => typeof item === 'string'))
  )
    issues.add('"requires" is not a list of plugin names.', 'Write it like ["tokens"].')
  if (config !== undefined && !isObject(config))
    issues.add('"config" is not a schema.', 'Give a typebox object schema.')
  if (typeof setup !== 'function')
    issues.add('it has no setup function.', 'Add setup(kernel) that returns what the plugin brings.')
  for (const member of Object.keys(value))
    if (!MEMBERS.includes(member))
      issues.add(
        `a plugin has no member "${member}".`,
        `Known are ${MEMBERS.join(', ')}; the rest is returned by setup.`,
      )
}

/** Plugins with a valid outer form, each name once; the issues of the others are added. */
export const checkPlugins = (candidates: readonly Candidate[], issues: Issue[]): readonly Plugin[] => {
  const plugins = new Map<string, Plugin>()
  const places = new Map<string, string>()
  for (const { place, value } of candidates) {
    const before = issues.length
    const named = isObject(value) && typeof value.name === 'string' && NAME.test(value.name)
    const at = issuesAt(named ? `plugin "${value.name}"` : place, issues)
    if (!isObject(value)) {
      at.add('it is not an object.', 'Export const plugin = definePlugin({ api: 1, name, version, setup }).')
      continue
    }
    checkShape(value, at)
    if (!named) continue
    const name = String(value.name)
    const other = places.get(name)
    if (other !== undefined) {
      at.add(
        `its name is taken: both ${other} and ${place} use it.`,
        'Remove one from the plugin list, or rename one.',
      )
      continue
    }
    places.set(name, place)
    if (issues.length === before) plugins.set(name, value as unknown as Plugin)
  }
  const known = [...plugins.values()]
  for (const plugin of known)
    for (const name of plugin.requires ?? [])
      if (!places.has(name))
        issuesAt(placeOf(plugin), issues).add(
          `it requires the plugin "${name}", which is not in the list.`,
          `Add "${name}" to SIDEVAULT_PLUGINS, or remove "${plugin.name}".`,
        )
  for (const cycle of orderByRequirement(known).cycles)
    issuesAt(`plugin "${cycle[0]}"`, issues).add(
      `plugins require each other in a circle: ${cycle.join(' → ')}.`,
      'Remove one of these requirements.',
    )
  return known
}

/** A plugin's configuration with its defaults; adds issues for values that its schema rejects. */
export const checkConfig = (plugin: Plugin, given: unknown, issues: Issue[]): unknown => {
  const at = issuesAt(`${placeOf(plugin)} › config`, issues)
  if (plugin.config === undefined) {
    if (given !== undefined) at.add('the plugin takes no configuration, and some is given.', 'Remove it.')
    return {}
  }
  const config = structuredClone(given ?? {})
  try {
    const issue = compileValidator(plugin.config)(config)
    for (const [path, sentences] of Object.entries(issue?.errors ?? {}))
      for (const sentence of sentences) at.add(`"${path}" ${sentence}.`, 'Correct the configuration.')
  } catch (thrown) {
    at.add(`its schema does not compile: ${(thrown as Error).message}.`, 'Correct the schema.')
  }
  return config
}

/** Names in the given configurations that belong to no plugin. */
export const checkConfigNames = (
  configs: Readonly<Record<string, unknown>>,
  plugins: readonly string[],
  issues: Issue[],
): void => {
  for (const name of Object.keys(configs))
    if (!plugins.includes(name))
      issuesAt(`plugin configuration › "${name}"`, issues).add(
        'there is no plugin of this name.',
        'Add the plugin to the list, or remove its configuration.',
      )
}
