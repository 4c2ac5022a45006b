import type { Command } from 'commander'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, operate, print } from './operate.ts'

/** `sidevault keys …`: on the store itself, whether the service runs or not. */
export const addKeysCommand = (root: Command): void => {
  const keys = root
    .command('keys')
    .description('the root key and the data keys; the service may run meanwhile')
  keys
    .command('rotate-root')
    .description('change the root key and wrap every key anew; run it again when it was cut short')
    .option(
      '--to <source>',
      'where the new root key comes from (file:<path>, env:<NAME>, passphrase:env:<NAME>, transit:<address>); without, a new key file replaces the old one',
    )
    .option('--finish', 'end a change: every process has the new source now', false)
    .addOption(configOption())
    .action(async ({ config, to, finish }: { config?: string; to?: string; finish: boolean }) => {
      if (to?.startsWith('passphrase:') && !to.startsWith('passphrase:env:'))
        throw new StartError(
          'A passphrase does not belong on the command line, where others see it and histories keep it. Put it into an environment variable: --to passphrase:env:<NAME>.',
          { configuration: true },
        )
      const { runRotateRoot } = await import('../operator/keys.ts')
      await operate(config, (settings) => runRotateRoot(settings, { to, finish }, print))
    })
  keys
    .command('rotate-data')
    .description(
      'give tenants a new data key and seal all values under it; run it again when it was cut short',
    )
    .option('--tenant <id>', 'only this one')
    .addOption(configOption())
    .action(async ({ config, tenant }: { config?: string; tenant?: string }) => {
      const { runRotateData } = await import('../operator/keys.ts')
      await operate(config, (settings) => runRotateData(settings, tenant, print))
    })
  keys
    .command('retire-data')
    .description('destroy the old versions of data keys that nothing needs any more')
    .option('--tenant <id>', 'only this one')
    .addOption(configOption())
    .action(async ({ config, tenant }: { config?: string; tenant?: string }) => {
      const { runRetireData } = await import('../operator/keys.ts')
      await operate(config, (settings) => runRetireData(settings, tenant, print))
    })
}
