import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfig } from '../../config.ts'
import { type Issue, issueLines } from '../../kernel/check/issues.ts'
import { PLUGINS_DIR } from '../../kernel/load/plugins-dir.ts'
import { type Inspection, inspect } from './inspect.ts'
import { printSummary } from './summary.ts'

type Print = (text: string) => void

const printIssues = (issues: readonly Issue[], print: Print) => {
  if (issues.length === 0) return
  print(
    `${issues.length === 1 ? 'One issue' : `${issues.length} issues`}:\n${issueLines(issues).join('\n')}\n`,
  )
}

/** Every plugin of the configuration with its contributions, and the issues. */
export const inspectConfigured = (env: NodeJS.ProcessEnv, file: string | undefined): Promise<Inspection> => {
  const config = loadConfig(env, { file })
  return inspect({
    plugins: config.plugins,
    pluginsDir: PLUGINS_DIR,
    bases: config.pluginBases,
    configs: config.pluginConfig,
    strict: true,
  })
}

export const printInspection = ({ plugins, issues }: Inspection, print: Print): void => {
  for (const plugin of plugins) print(printSummary(plugin))
  printIssues(issues, print)
}

/** The folder of a built-in plugin, for its name. Undefined if a base folder has that name. */
const shippedFolder = (source: string, bases: readonly string[]): string | undefined => {
  const folder = join(PLUGINS_DIR, source)
  const here = bases.some((base) => existsSync(resolve(base, source)))
  return !here && /^[a-z0-9-]+$/.test(source) && existsSync(folder) ? folder : undefined
}

/**
 * Checks plugins together with the built-in ones and prints those asked for. Resolves with true if there are
 * issues.
 */
export const checkPlugins = async (
  env: NodeJS.ProcessEnv,
  file: string | undefined,
  sources: readonly string[],
  print: Print,
): Promise<boolean> => {
  const config = loadConfig(env, { file })
  const bases = [...new Set([process.cwd(), ...config.pluginBases])]
  const asked = sources.map((source) => shippedFolder(source, bases) ?? source)
  const { plugins, issues } = await inspect({
    plugins: [...asked, '*'],
    pluginsDir: PLUGINS_DIR,
    bases,
    configs: config.pluginConfig,
    strict: false,
  })
  const places = asked.map((source) => `plugin list › "${source}"`)
  for (const plugin of plugins) if (places.includes(plugin.place)) print(printSummary(plugin))
  printIssues(issues, print)
  if (issues.length === 0) print('No issues.\n')
  return issues.length > 0
}
