import type { Command } from 'commander'
import { Secret } from '../common/secret.ts'
import { SettingError } from '../config/parse.ts'
import { readSecretVariable } from '../config/secret-variable.ts'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, operate, print, workingDirectory } from './run-command.ts'

const VARIABLE = 'SIDEVAULT_EXPORT_PASSPHRASE'

const passphraseInFile = (): string | undefined => {
  try {
    return readSecretVariable(process.env, VARIABLE, workingDirectory())
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new StartError(`${VARIABLE}_FILE: ${error.message} ${error.fix}`, { configuration: true })
  }
}

/** Not an option: command lines are visible to other users and stored in the shell history. */
const passphrase = (): Secret<string> => {
  const text = passphraseInFile() ?? process.env[VARIABLE]
  if (!text)
    throw new StartError(
      `Set ${VARIABLE} to the passphrase of the file (at least 12 characters), or ${VARIABLE}_FILE to a file with it.`,
      { configuration: true },
    )
  return new Secret(text)
}

const warn = (line: string): void => void process.stderr.write(`${line}\n`)

/** `sidevault export`, `sidevault import`, `sidevault migrate-store`. */
export const addTransferCommands = (root: Command): void => {
  root
    .command('export')
    .description(`write a tenant into one file, encrypted under ${VARIABLE}`)
    .requiredOption('--tenant <id>', 'its id, as "tenants list" prints it')
    .requiredOption('--to <file>', 'a new file')
    .addOption(configOption())
    .action(async ({ config, tenant, to }: { config?: string; tenant: string; to: string }) => {
      const { runExport } = await import('../maintenance/export-tenant.ts')
      const options = { tenantId: tenant, path: to, passphrase: passphrase() }
      await operate(config, (settings) => runExport(settings, options, print))
    })
  root
    .command('import')
    .description('create a tenant from a file written by "export", and print its management key once')
    .argument('<file>', `the file; its passphrase in ${VARIABLE}`)
    .option('--map <file>', 'file for the changed ids and the omitted parts (default: <file>.map.json)')
    .addOption(configOption())
    .action(async (file: string, { config, map }: { config?: string; map?: string }) => {
      const { runImport } = await import('../maintenance/import-tenant.ts')
      const options = { path: file, passphrase: passphrase(), map: map ?? `${file}.map.json` }
      await operate(config, (settings) => runImport(settings, options, print))
    })
  root
    .command('migrate-store')
    .description('migrate the vault of the data directory to an empty PostgreSQL database')
    .requiredOption(
      '--to <address>',
      'env:<NAME>, a variable with postgres://user:password@host/database, or the URL itself (its password in PGPASSWORD)',
    )
    .addOption(configOption())
    .action(async ({ config, to }: { config?: string; to: string }) => {
      const { migrateStore } = await import('../maintenance/migrate-store.ts')
      await operate(config, (settings) => migrateStore(settings, to, print, warn), to)
    })
}
