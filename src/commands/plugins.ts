import { type Command, Option } from 'commander'
import { KINDS } from './plugins/kinds.ts'
import { configOption, jsonOption, printJson, USAGE } from './run-command.ts'

const print = (text: string) => process.stdout.write(text)

interface NewOptions {
  readonly json?: true
  readonly npm?: true
  readonly kind: (typeof KINDS)[number]
}

/** Sets the exit code 2 if there are issues. */
const report = (invalid: boolean) => {
  if (invalid) process.exitCode = USAGE
}

/** `sidevault plugins …`: for authors and operators of plugins. */
export const addPluginsCommand = (root: Command): void => {
  const plugins = root.command('plugins').description('the plugins of the service')
  plugins
    .command('list')
    .description('list what each plugin of SIDEVAULT_PLUGINS contributes')
    .addOption(jsonOption())
    .addOption(configOption())
    .action(async ({ config, json }: { config?: string; json: boolean }) => {
      const { inspectConfigured, printInspection } = await import('./plugins/check.ts')
      const inspection = await inspectConfigured(process.env, config)
      if (json) printJson(inspection)
      else printInspection(inspection, print)
      report(inspection.issues.length > 0)
    })
  plugins
    .command('check')
    .description('check plugins together with the built-in ones; exit code 2 on an error')
    .argument('<plugin...>', 'folder, npm name, JSON file, or name of a built-in plugin')
    .addOption(configOption())
    .action(async (sources: string[], { config }: { config?: string }) => {
      const { checkPlugins } = await import('./plugins/check.ts')
      report(await checkPlugins(process.env, config, sources, print))
    })
  plugins
    .command('new')
    .description('create a plugin, with a test')
    .argument('<path>', 'folder to create; its last part is the name of the plugin')
    .addOption(new Option('--folder', 'a folder in TypeScript (default)').conflicts(['json', 'npm']))
    .addOption(new Option('--json', 'one declarative JSON file: token types without code').conflicts('npm'))
    .addOption(new Option('--npm', 'an npm package in JavaScript'))
    .addOption(new Option('--kind <kind>', 'what it brings').choices(KINDS).default('token-type'))
    .action(async (path: string, options: NewOptions, command: Command) => {
      const { scaffold, ScaffoldError } = await import('./plugins/scaffold.ts')
      const form = options.json ? 'json' : options.npm ? 'npm' : 'folder'
      try {
        print(scaffold({ form, kind: options.kind, path, cwd: process.cwd() }))
      } catch (error) {
        if (!(error instanceof ScaffoldError)) throw error
        command.error(`sidevault: ${error.message}`)
      }
    })
  plugins
    .command('test')
    .description("run a plugin's tests (*.test.ts, *.test.js) with what they import of the service")
    .argument('<path>', 'folder of the plugin')
    .action(async (path: string) => {
      const { testPlugin } = await import('./plugins/test.ts')
      process.exitCode = await testPlugin(path)
    })
}
