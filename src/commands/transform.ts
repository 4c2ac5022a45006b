import { type Command, Option } from 'commander'
import { loadConfig } from '../config.ts'
import { configOption, FAILURE } from './run-command.ts'
import type { FixtureOptions } from './transform/fixtures.ts'

const EXAMPLES = `
The code runs as in the service, with the same limits, on the given message. Its result is written to standard output,
its console, changes and time to standard error. "bt" needs a vault and fails here; "fetch" calls public https://
addresses, or those that the settings SIDEVAULT_EGRESS_… allow.

  sidevault transform run sign.js --body '{"amount":100}' --headers '{"X-Order":"7"}'
  sidevault transform run sign.js --body @order.json --configuration '{"secret":"s3cret"}'
  sidevault transform run hide.js --response --body @response.json
  sidevault transform run form.js --type form --body 'number=4242424242424242&month=12'

Exit codes: 0 it returned { body, headers }; 1 it failed or returned something else; 2 it could not be run.`

/** `sidevault transform …`: for authors of transforms. */
export const addTransformCommand = (root: Command): void => {
  root
    .command('transform')
    .description('the code of stored proxies')
    .command('run')
    .description('run a transform on a given message, without a service')
    .argument('<file>', 'JavaScript that exports the function')
    .option('--body <json|@file>', "the message's body; default: none")
    .option('--headers <json|@file>', 'its headers by name')
    .option('--configuration <json|@file>', "the proxy's configuration")
    .option('--method <method>', 'method of the request', 'POST')
    .option('--path <path>', 'path after /proxy', '')
    .option('--query <query>', 'query, without the ?', '')
    .addOption(
      new Option('--type <type>', 'content type, if --headers has none')
        .choices(['json', 'form'])
        .default('json'),
    )
    .option('--response', 'the file is a response transform')
    .addOption(configOption())
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: FixtureOptions & { config?: string }, command: Command) => {
      const config = loadConfig(process.env, { file: options.config })
      const [{ runFile }, { FixtureError }] = await Promise.all([
        import('./transform/run.ts'),
        import('./transform/fixtures.ts'),
      ])
      try {
        const succeeded = await runFile(file, options, config, {
          out: (text) => process.stdout.write(text),
          err: (text) => process.stderr.write(text),
        })
        if (!succeeded) process.exitCode = FAILURE
      } catch (error) {
        if (!(error instanceof FixtureError)) throw error
        command.error(`sidevault: ${error.message}`)
      }
    })
}
