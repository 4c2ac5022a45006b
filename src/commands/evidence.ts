import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { configOption, operate, print, workingDirectory } from './run-command.ts'

interface Options {
  readonly config?: string
  readonly since: string
  readonly out: string
}

/** `sidevault evidence`: the service may run. */
export const addEvidenceCommand = (root: Command): void => {
  root
    .command('evidence')
    .description(
      'write evidence for an auditor: configuration without secrets, ages of keys, verification of the audit log, versions, and changes of rules; exit code 1 when a journal is broken',
    )
    .requiredOption('--since <date>', 'changes since then, e.g. 2026-01-31')
    .requiredOption('--out <folder>', 'a new folder, for evidence.json and evidence.md')
    .addOption(configOption())
    .action(async ({ config, since, out }: Options) => {
      const { runEvidence } = await import('../maintenance/evidence.ts')
      const { servicesOn } = await import('./status.ts')
      const program = new URL('../..', import.meta.url)
      const { envoyVersion } = await import(new URL('bin/bootstrap/envoy.js', program).href)
      await operate(config, async (settings) => {
        const folder = resolve(workingDirectory(), out)
        const envoy: string | undefined = await envoyVersion(fileURLToPath(program))
        return runEvidence(
          settings,
          { since, out: folder, envoy, services: await servicesOn(settings) },
          print,
        )
      })
    })
}
