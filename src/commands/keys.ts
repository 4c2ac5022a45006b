import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, operate, print } from './run-command.ts'

interface Options {
  readonly config?: string
  readonly to?: string
  readonly finish: boolean
  readonly abort: boolean
}

/** `sidevault keys …`: on the store itself. The service may run. */
export const addKeysCommand = (root: Command): void => {
  const keys = root.command('keys').description('root key and data keys; the service may run')
  keys
    .command('rotate-root')
    .description('change the root key, and wrap every key again; repeat it after an interruption')
    .option(
      '--to <source>',
      'source of the new root key (file:<path>, env:<NAME>, passphrase:env:<NAME>, transit:<address>). Without it, a new key file replaces the old one',
    )
    .option('--finish', 'end the change, once every process has the new source', false)
    .addOption(
      new Option('--abort', 'with the old source: go back to it, when the new root key was lost')
        .conflicts(['to', 'finish'])
        .default(false),
    )
    .addOption(configOption())
    .action(async ({ config, to, ...steps }: Options) => {
      if (to?.startsWith('passphrase:') && !to.startsWith('passphrase:env:'))
        throw new StartError(
          'A passphrase on the command line is visible to other users and stored in the shell history. Set it in an environment variable: --to passphrase:env:<NAME>.',
          { configuration: true },
        )
      if (to !== undefined && !/^[a-z][a-z0-9-]*:./.test(to))
        throw new StartError(
          'The value of --to is not a source of a root key. Write file:<path>, env:<NAME>, passphrase:env:<NAME> or transit:<address>.',
          { configuration: true },
        )
      const { runRotateRoot } = await import('../maintenance/keys.ts')
      await operate(config, (settings) => runRotateRoot(settings, { to, ...steps }, print), to)
    })
  keys
    .command('rotate-data')
    .description('create new data keys, and seal all values again; repeat it after an interruption')
    .option('--tenant <id>', 'only this tenant')
    .addOption(configOption())
    .action(async ({ config, tenant }: { config?: string; tenant?: string }) => {
      const { runRotateData } = await import('../maintenance/keys.ts')
      await operate(config, (settings) => runRotateData(settings, tenant, print))
    })
  keys
    .command('destroy-old')
    .description('destroy old versions of data keys that are no longer needed')
    .option('--tenant <id>', 'only this tenant')
    .addOption(configOption())
    .action(async ({ config, tenant }: { config?: string; tenant?: string }) => {
      const { runDestroyOldKeys } = await import('../maintenance/keys.ts')
      await operate(config, (settings) => runDestroyOldKeys(settings, tenant, print))
    })
  keys
    .command('delegate')
    .description(
      'make a key for gateways that opens one tenant, and print the SQL of their database role (PostgreSQL)',
    )
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--to <name>', 'name of the gateways that get the key')
    .option('--out <file>', 'file for the key, which must not exist. Default: <name>.delegated-key')
    .addOption(configOption())
    .action(async ({ config, ...options }: { config?: string; tenant: string; to: string; out?: string }) => {
      const { runDelegate } = await import('../maintenance/delegation-commands.ts')
      const out = resolve(options.out ?? `${options.to}.delegated-key`)
      await operate(config, (settings) => runDelegate(settings, { ...options, out }, print))
    })
  keys
    .command('delegations')
    .description('list the delegated keys, revoked ones included')
    .option('--sql <name>', 'instead, print the SQL of the database role of this one again')
    .addOption(configOption())
    .action(async ({ config, sql }: { config?: string; sql?: string }) => {
      const { runDelegations } = await import('../maintenance/delegation-commands.ts')
      await operate(config, (settings) => runDelegations(settings, sql, print))
    })
  keys
    .command('revoke')
    .description('end a delegated key, and print the SQL that ends its database role')
    .argument('<name>', 'name of the gateways that have it')
    .addOption(configOption())
    .action(async (name: string, { config }: { config?: string }) => {
      const { runRevoke } = await import('../maintenance/delegation-commands.ts')
      await operate(config, (settings) => runRevoke(settings, name, print))
    })
}
