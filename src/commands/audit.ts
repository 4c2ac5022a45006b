import type { Command } from 'commander'
import { configOption, jsonOption, operate, print, printJson } from './run-command.ts'

interface VerifyOptions {
  readonly config?: string
  readonly rows: boolean
  readonly head?: string[]
  readonly json: boolean
}

/** `sidevault audit …`: on the journals of the data directory. The service may run. */
export const addAuditCommand = (root: Command): void => {
  const audit = root.command('audit').description('the audit journal')
  audit
    .command('verify')
    .description('check the hash chain of every journal; exit code 1 when one is broken')
    .option('--rows', 'verify the rows of the database, which are never removed, instead of the files', false)
    .option('--head <journal:seq:hash...>', 'with --rows: heads from the log, to compare with the rows')
    .addOption(jsonOption())
    .addOption(configOption())
    .action(async ({ config, rows, head, json }: VerifyOptions) => {
      const maintenance = await import('../maintenance/audit.ts')
      await operate(config, async (settings) => {
        if (rows || head !== undefined) {
          const report = await maintenance.verifyAuditRows(settings, head ?? [])
          if (json) printJson(report)
          else maintenance.printVerifiedRows(report, print)
          return report.ok
        }
        const report = await maintenance.verifyAudit(settings)
        if (json) printJson(maintenance.verifiedJson(report))
        else maintenance.printVerified(report, print)
        return report.ok
      })
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
