import type { Command } from 'commander'
import { configOption, operate, print } from './run-command.ts'

/** `sidevault backup`, `sidevault restore`. */
export const addBackupCommands = (root: Command): void => {
  root
    .command('backup')
    .description(
      'write store and audit journals into one file; the service may run. The root key is not in it. Exit code 1 when a journal is broken',
    )
    .argument('<file>', 'a new file')
    .addOption(configOption())
    .action(async (file: string, { config }: { config?: string }) => {
      const { runBackup } = await import('../maintenance/backup.ts')
      await operate(config, (settings) => runBackup(settings, file, print))
    })
  root
    .command('restore')
    .description('restore a backup into an empty data directory or database, and verify it')
    .argument('<file>', 'a file that "backup" wrote')
    .option(
      '--unverified',
      'restore without the root key, which then checks neither seal nor audit chain, or with a broken audit chain',
      false,
    )
    .addOption(configOption())
    .action(async (path: string, { config, unverified }: { config?: string; unverified: boolean }) => {
      const { runRestore } = await import('../maintenance/restore.ts')
      await operate(config, (settings) => runRestore(settings, { path, unverified }, print))
    })
}
