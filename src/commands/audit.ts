import type { Command } from 'commander'
import { configOption, operate, print } from './run-command.ts'

/** `sidevault audit …`: on the journals of the data directory. The service may run. */
export const addAuditCommand = (root: Command): void => {
  const audit = root.command('audit').description('the audit journal')
  audit
    .command('verify')
    .description('check the hash chain of every journal; exit code 1 when one is broken')
    .option('--rows', 'verify the rows of the database, which are never removed, instead of the files', false)
    .option('--head <journal:seq:hash...>', 'with --rows: heads from the log, to compare with the rows')
    .addOption(configOption())
    .action(async ({ config, rows, head }: { config?: string; rows: boolean; head?: string[] }) => {
      const { verifyAudit, verifyAuditRows } = await import('../maintenance/audit.ts')
      await operate(config, (settings) =>
        rows || head !== undefined
          ? verifyAuditRows(settings, head ?? [], print)
          : verifyAudit(settings, print),
      )
    })
  audit
    .command('acknowledge-loss')
    .description('set the damaged part of a journal aside, and continue the chain behind the valid part')
    .requiredOption('--journal <name>', 'the journal, as "verify" prints it')
    .option('--yes', 'do it; without it, only show what would be lost', false)
    .addOption(configOption())
    .action(async ({ config, ...options }: { config?: string; journal: string; yes: boolean }) => {
      const { acknowledgeAuditLoss } = await import('../maintenance/audit.ts')
      await operate(config, (settings) => acknowledgeAuditLoss(settings, options, print))
    })
}
