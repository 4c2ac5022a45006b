import type { Command } from 'commander'
import { configOption, operate, print } from './run-command.ts'

/** `sidevault ca …`: on the store itself. The service may run. */
export const addCaCommand = (root: Command): void => {
  const ca = root
    .command('ca')
    .description('the certificate authority of the forward proxy; the service may run')
  ca.command('print')
    .description('print the certificates that clients of the forward proxy should trust (PEM)')
    .addOption(configOption())
    .action(async ({ config }: { config?: string }) => {
      const { printCa } = await import('../maintenance/ca.ts')
      await operate(config, (settings) => printCa(settings, print))
    })
  ca.command('rotate')
    .description(
      'create a new certificate authority, which signs in seven days; clients should trust both until then',
    )
    .option('--now', 'sign with the new authority at once, also if an earlier rotation created it', false)
    .addOption(configOption())
    .action(async ({ config, now }: { config?: string; now: boolean }) => {
      const { rotateCa } = await import('../maintenance/ca.ts')
      await operate(config, (settings) => rotateCa(settings, now, print))
    })
}
