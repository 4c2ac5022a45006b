import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, operate } from './run-command.ts'

interface Options {
  readonly application?: string
  readonly keyEnv?: string
  readonly config?: string
}

const keyIn = (name: string): string => {
  const key = process.env[name]
  if (!key)
    throw new StartError(
      `The environment variable "${name}" of --key-env is not set. Set it to an API key.`,
      {
        configuration: true,
      },
    )
  return key
}

const run = async (
  config: Config,
  command: readonly string[],
  { application, keyEnv }: Options,
): Promise<number> => {
  if ((application === undefined) === (keyEnv === undefined))
    throw new StartError('Name either --application or --key-env.', { configuration: true })
  const ownKey = keyEnv === undefined ? undefined : keyIn(keyEnv)
  const cwd = process.cwd()
  const { environmentFor } = await import('./run/environment.ts')
  const { exitCodeOf, passSignals, runChild } = await import('./run/run-child.ts')
  const { createRunKey, forwardProxy } = await import('./run/service.ts')
  const { writeTrustFiles } = await import('./run/trust-files.ts')
  const signals = passSignals()
  const ends: (() => Promise<void>)[] = [async () => signals.close()]
  try {
    // The working directory is the data directory from here on.
    const { address, caPem } = await forwardProxy(config)
    const files = await writeTrustFiles(caPem, { env: process.env, cwd, now: Date.now() })
    ends.push(files.remove)
    const runKey = application === undefined ? undefined : await createRunKey(config, application)
    if (runKey !== undefined) {
      const warn = (error: Error) =>
        process.stderr.write(`sidevault: the key of this run was not renewed: ${error.message}\n`)
      const renewal = setInterval(() => void runKey.renew().catch(warn), runKey.endsInMs / 3).unref()
      ends.push(async () => {
        clearInterval(renewal)
        await runKey.remove()
      })
    }
    if (signals.early !== undefined) return exitCodeOf(signals.early)
    const key = runKey?.key ?? ownKey ?? ''
    const { [keyEnv ?? '']: _, ...env } = process.env
    return await runChild(command, {
      cwd,
      env: environmentFor(env, { config, address, key, files }),
      signals,
    })
  } finally {
    for (const end of ends.toReversed())
      await end().catch((error: Error) => process.stderr.write(`sidevault: ${error.message}\n`))
  }
}

/** `sidevault run`: a command whose HTTPS requests go through the forward proxy of the service on this machine. */
export const addRunCommand = (root: Command): void => {
  root
    .command('run')
    .description(
      'run a command whose HTTPS requests go through the forward proxy; its exit code is that of the command',
    )
    .argument('<command...>', 'the command and its arguments, behind --')
    .option(
      '--application <id>',
      'private application to create a temporary key for; the key is deleted when the command ends',
    )
    .option('--key-env <NAME>', 'environment variable with the key of a private application')
    .addOption(configOption())
    .passThroughOptions()
    .action(async (command: string[], options: Options) => {
      let code = 0
      const work = async (config: Config) => {
        code = await run(config, command, options)
      }
      await operate(options.config, work, options.keyEnv)
      process.exitCode = code
    })
}
