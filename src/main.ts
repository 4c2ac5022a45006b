import { Command, CommanderError, Option } from 'commander'
import { addAuditCommand } from './commands/audit.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addBundleCommand } from './commands/bundle.ts'
import { addCaCommand } from './commands/ca.ts'
import { addEvidenceCommand } from './commands/evidence.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addPluginsCommand } from './commands/plugins.ts'
import { addProtoCommand } from './commands/proto.ts'
import { addReloadCommand } from './commands/reload.ts'
import { addRunCommand } from './commands/run.ts'
import { configOption, FAILURE, print, printJson, USAGE, workingDirectory } from './commands/run-command.ts'
import { addStatusCommand } from './commands/status.ts'
import { addTransferCommands } from './commands/tenant-transfer.ts'
import { addTenantsCommand } from './commands/tenants.ts'
import { addTransformCommand } from './commands/transform.ts'
import { createLog } from './common/log.ts'
import { hasTerminal } from './common/terminal.ts'
import { programVersion } from './common/version.ts'
import { configSchema } from './config/json-schema.ts'
import { printConfig } from './config/print.ts'
import { ConfigError, describeSettings, loadConfig } from './config.ts'
import { ROLES, type Role } from './supervisor/messages.ts'
import { rejectTenantSettings } from './supervisor/one-tenant.ts'
import { StartError } from './supervisor/start-error.ts'

/** Signals within this time count as one: npm passes on a Ctrl-C that the terminal has sent to all. */
const SAME_SIGNAL_MS = 300

const start = async (options: { role: Role; tenant?: string; config?: string }): Promise<void> => {
  process.title = 'sidevault: supervisor'
  const config = loadConfig(process.env, { file: options.config, cwd: workingDirectory() })
  rejectTenantSettings(config, options.role, options.tenant)
  const { resolve } = await import('node:path')
  const { startSupervisor } = await import('./supervisor/supervisor.ts')
  const file = options.config ?? process.env.SIDEVAULT_CONFIG
  const envoyBinary = process.env.ENVOY_BIN
  const supervisor = startSupervisor(config, {
    role: options.role,
    tenant: options.tenant,
    configFile: file ? resolve(config.baseDir, file) : undefined,
    envoyBinary,
    env: process.env,
    print: (text) => process.stdout.write(text),
    terminal: process.stdout.isTTY === true,
  })
  let last = Number.NEGATIVE_INFINITY
  const stop = () => {
    const now = performance.now()
    if (now - last < SAME_SIGNAL_MS) return
    last = now
    supervisor.stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  const log = createLog('supervisor', 'error')
  const reload = () =>
    supervisor.reload().catch((error: Error) => log.error(`settings were not reloaded: ${error.message}`))
  // With a terminal, SIGHUP means that it was closed; without one, it is a service manager's request to reload.
  process.on('SIGHUP', hasTerminal() ? stop : reload)
  // By default it opens Node's inspector.
  process.on('SIGUSR1', () => {})
  watchParent(stop)
  try {
    await supervisor.ready
  } catch (error) {
    if (process.stderr.isTTY || !(error instanceof StartError) || error.configuration) throw error
    // Standard error is the service's log by now, which programs read.
    log.error(error.message)
    process.exitCode = FAILURE
  }
  await supervisor.done
}

/** The bootstrap's own process, or npm, may be killed without a word to us. */
const watchParent = (stop: () => void): void => {
  if (process.channel) {
    process.on('disconnect', stop)
    process.channel.unref()
  }
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, 1000)
  timer.unref()
}

const settingsHelp = (): string => {
  const width = Math.max(...describeSettings().map(({ variable }) => variable.length))
  const lines = describeSettings().map(
    ({ variable, description }) => `  ${variable.padEnd(width)}  ${description}`,
  )
  return `\nSettings (environment, or members of the file named by SIDEVAULT_CONFIG):\n${lines.join('\n')}`
}

/** All commands. */
export const createProgram = (): Command => {
  const root = new Command('sidevault')
    .description('Self-hosted tokenization vault and detokenizing egress gateway.')
    .version(programVersion(), '--version', 'print the version')
    .exitOverride()
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
  root
    .command('start')
    .description('run the service until Ctrl-C')
    .addOption(new Option('--role <role>', 'roles of this process').choices([...ROLES]).default('all'))
    .option('--tenant <id>', 'with --role gateway and a delegated key: the only tenant of this gateway')
    .addOption(configOption())
    .addHelpText('after', settingsHelp())
    .action(start)
  addAuditCommand(root)
  addBackupCommands(root)
  addBundleCommand(root)
  addCaCommand(root)
  addEvidenceCommand(root)
  addKeysCommand(root)
  addTransferCommands(root)
  addPluginsCommand(root)
  addProtoCommand(root)
  addReloadCommand(root)
  addRunCommand(root)
  addStatusCommand(root)
  addTenantsCommand(root)
  addTransformCommand(root)
  const configuration = root.command('config').description('the configuration')
  configuration
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .action(() => printJson(configSchema()))
  configuration
    .command('print')
    .description('check the configuration and print it, without secrets')
    .addOption(configOption())
    .action((options: { config?: string }) => {
      const config = loadConfig(process.env, { file: options.config })
      process.stdout.write(printConfig(config))
    })
  root
    .command('version')
    .description('print the version')
    .action(() => print(programVersion()))
  return root
}

/** Command line. Sets the exit code; errors of usage, configuration and start print a sentence, no stack. */
export const main = async (argv: readonly string[]): Promise<void> => {
  // A closed reader (`| head`) does not stop the command.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A socket whose reader has exited with unread data reports ECONNRESET once.
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error
  })
  try {
    await createProgram().parseAsync(argv)
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : USAGE
      return
    }
    if (!(error instanceof ConfigError || error instanceof StartError)) throw error
    process.stderr.write(`sidevault: ${error.message}\n`)
    const rejected = error instanceof ConfigError || error.configuration
    process.exitCode = rejected ? USAGE : FAILURE
  }
}
