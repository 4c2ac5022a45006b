import { Option } from 'commander'
import { AppError } from '../common/errors.ts'
import { type Config, loadConfig } from '../config.ts'
import { StartError } from '../supervisor/start-error.ts'

/** Exit codes: failure, and wrong usage or configuration. */
export const FAILURE = 1
export const USAGE = 2

/** Prints a line to standard output. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Prints the one JSON value of a command with `--json`. */
export const printJson = (value: unknown): void => print(JSON.stringify(value, undefined, 2))

/** Throws StartError when it was removed. */
export const workingDirectory = (): string => {
  try {
    return process.cwd()
  } catch {
    throw new StartError('The working directory was removed. Change to another one, and retry.')
  }
}

/**
 * Runs an operator's command. Exit code 1 if it resolves with false. An AppError is shown without a stack. `named`: an
 * argument that may name a variable.
 */
export const operate = async (
  file: string | undefined,
  work: (config: Config) => Promise<unknown>,
  named?: string,
): Promise<void> => {
  try {
    if ((await work(loadConfig(process.env, { file, cwd: workingDirectory(), named }))) === false)
      process.exitCode = FAILURE
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    throw new StartError(thrown.message, { configuration: 'configuration' in thrown })
  }
}

/** The option that all commands have which read the configuration. */
export const configOption = () =>
  new Option('--config <file>', 'JSON or YAML file with settings; environment variables take precedence')

/** For commands whose output programs read. */
export const jsonOption = () => new Option('--json', 'print one JSON value').default(false)
