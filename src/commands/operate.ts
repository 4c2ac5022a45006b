import { Option } from 'commander'
import { AppError } from '../common/errors.ts'
import { type Config, loadConfig } from '../config.ts'
import { StartError } from '../supervisor/start-error.ts'

export const print = (line: string) => process.stdout.write(`${line}\n`)

/** Runs an operator's command; what it refuses is a sentence, what it could not do wholly exit code 1. */
export const operate = async (
  file: string | undefined,
  work: (config: Config) => Promise<unknown>,
): Promise<void> => {
  try {
    if ((await work(loadConfig(process.env, { file }))) === false) process.exitCode = 1
  } catch (thrown) {
    throw thrown instanceof AppError ? new StartError(thrown.message) : thrown
  }
}

export const configOption = () =>
  new Option('--config <file>', 'JSON or YAML file with settings; the environment wins')
