import type { Command } from 'commander'
import { configOption, operate, print } from './operate.ts'

/** `sidevault audit …`: on the journals of the data directory, whether its service runs or not. */
export const addAuditCommand = (root: Command): void => {
  const audit = root.command('audit').description('the audit journal')
  audit
    .command('verify')
    .description('check the hash chain of every journal; exit code 1 when one is broken')
    .addOption(configOption())
    .action(async ({ config }: { config?: string }) => {
      const { verifyAudit } = await import('../operator/audit.ts')
      await operate(config, (settings) => verifyAudit(settings, print))
    })
  audit
    .command('accept-loss')
    .description('set the damaged part of a journal aside, so that the chain goes on behind what holds')
    .requiredOption('--journal <name>', 'the journal, as "verify" prints it')
    .option('--yes', 'do it; without, only show what would be lost', false)
    .addOption(configOption())
    .action(async ({ config, ...options }: { config?: string; journal: string; yes: boolean }) => {
      const { acceptAuditLoss } = await import('../operator/audit.ts')
      await operate(config, (settings) => acceptAuditLoss(settings, options, print))
    })
}
