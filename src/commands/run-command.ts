import { Option } from 'commander'
import { AppError } from '../common/errors.ts'
import { type Config, loadConfig } from '../config.ts'
import { StartError } from '../supervisor/start-error.ts'

/** Exit codes, besides 0 for what was done: what failed, and wrong usage or configuration. */
export const FAILURE = 1
export const USAGE = 2

/** A line of what a command answers. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs an operator's command; what it refuses is a sentence, what it could not do wholly exit code 1. */
export const operate = async (
  file: string | undefined,
  work: (config: Config) => Promise<unknown>,
): Promise<void> => {
  try {
    if ((await work(loadConfig(process.env, { file }))) === false) process.exitCode = FAILURE
  } catch (thrown) {
    throw thrown instanceof AppError ? new StartError(thrown.message) : thrown
  }
}

/** The option that all commands have which read the configuration. */
export const configOption = () =>
  new Option('--config <file>', 'JSON or YAML file with settings; the environment wins')
