import type { TSchema } from 'typebox'
import { isObject } from '../../common/json.ts'
import { Type } from '../../common/json-schema.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Plugin } from '../../sdk/index.ts'
import type { Candidate } from '../load/discover.ts'
import { orderByRequirement } from '../order.ts'
import { Callable, checkDeclaration, issue, issueOfHolder, noOthers } from './declaration.ts'
import { type Issue, type Issues, issuesAt } from './issues.ts'

const NAME = /^[a-z][a-z0-9-]{0,49}$/
export const placeOf = (plugin: Plugin): string => `plugin "${plugin.name}"`

/** Schema of a plugin. */
const PluginDeclaration = Type.Object(
  {
    api: Type.Literal(
      1,
      issueOfHolder(
        'it is written for plugin API {value}.',
        'This service speaks api: 1; install a release of the plugin for it.',
      ),
    ),
    name: Type.String({
      pattern: NAME.source,
      ...issueOfHolder(
        'its name is not valid.',
        'Use lower-case letters, digits and dashes, a letter first, at most 50.',
      ),
    }),
    version: Type.String({
      pattern: '^\\d+\\.\\d+\\.\\d+(?:[-+][0-9A-Za-z.+-]+)?$',
      ...issueOfHolder('its version is not a semantic version.', 'Write it like "1.0.0".'),
    }),
    requires: Type.Optional(
      Type.Array(
        Type.String(),
        issueOfHolder('"requires" is not a list of plugin names.', 'Write it like ["tokens"].'),
      ),
    ),
    config: Type.Optional(
      Type.Object({}, issueOfHolder('"config" is not a schema.', 'Give a typebox object schema.')),
    ),
    setup: Callable(
      issueOfHolder('it has no setup function.', 'Add setup(context) that returns what the plugin brings.'),
    ),
  } satisfies Record<keyof Plugin, TSchema>,
  {
    ...issue('it is not an object.', 'Export const plugin = definePlugin({ api: 1, name, version, setup }).'),
    ...noOthers('a plugin has no member "{member}".', 'Known are {members}; the rest is returned by setup.'),
  },
)

/** Plugins with a valid outer form, each name once; the issues of the others are added. */
export const checkPlugins = (candidates: readonly Candidate[], issues: Issue[]): readonly Plugin[] => {
  const plugins = new Map<string, Plugin>()
  const places = new Map<string, string>()
  for (const { place, value } of candidates) {
    const before = issues.length
    const named = isObject(value) && typeof value.name === 'string' && NAME.test(value.name)
    const at = issuesAt(named ? `plugin "${value.name}"` : place, issues)
    checkDeclaration(PluginDeclaration, value, at)
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

/** A configuration with the defaults of its schema; adds issues for values that the schema rejects. */
export const checkValues = (
  { owner, schema }: { readonly owner: string; readonly schema: TSchema | undefined },
  configured: unknown,
  at: Issues,
): unknown => {
  if (schema === undefined) {
    if (configured !== undefined)
      at.add(`the ${owner} takes no configuration, and some is given.`, 'Remove it.')
    return {}
  }
  const config = structuredClone(configured ?? {})
  try {
    const error = compileValidator(schema)(config)
    for (const [path, sentences] of Object.entries(error?.errors ?? {}))
      for (const sentence of sentences) at.add(`"${path}" ${sentence}.`, 'Correct the configuration.')
  } catch (thrown) {
    at.add(`its schema does not compile: ${(thrown as Error).message}.`, 'Correct the schema.')
  }
  return config
}

/** A plugin's configuration with its defaults; adds issues for values that its schema rejects. */
export const checkConfig = (plugin: Plugin, configured: unknown, issues: Issue[]): unknown =>
  checkValues(
    { owner: 'plugin', schema: plugin.config },
    configured,
    issuesAt(`${placeOf(plugin)} › config`, issues),
  )

/** Names in the configurations that belong to no plugin. `<scheme>:` belongs to a key provider. */
export const checkConfigNames = (
  configs: Readonly<Record<string, unknown>>,
  plugins: readonly string[],
  issues: Issue[],
): void => {
  for (const name of Object.keys(configs))
    if (!name.endsWith(':') && !plugins.includes(name))
      issuesAt(`plugin configuration › "${name}"`, issues).add(
        'there is no plugin of this name.',
        'Add the plugin to the list, or remove its configuration.',
      )
}
