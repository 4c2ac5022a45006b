import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { SettingError } from './parse.ts'

/** Text of the file, without the line break at its end. */
const textOf = (path: string): string => {
  let text: string
  try {
    if (!statSync(path).isFile()) throw new SettingError(`"${path}" is not a file.`, 'Name a regular file.')
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    if (error instanceof SettingError) throw error
    throw new SettingError(
      `the file "${path}" cannot be read (${codeOf(error) || 'unknown error'}).`,
      'Name a file that this user can read.',
    )
  }
  if (text === '') throw new SettingError(`the file "${path}" is empty.`, 'Write the value into it.')
  return text
}

/**
 * The value in the file that `<variable>_FILE` names, relative to `cwd`. Undefined without that variable. Throws
 * SettingError, which never contains the value.
 */
export const readSecretVariable = (
  env: NodeJS.ProcessEnv,
  variable: string,
  cwd: string,
): string | undefined => {
  const path = env[`${variable}_FILE`]
  if (!path) return undefined
  if (env[variable])
    throw new SettingError(`${variable} is set, too.`, `Set either ${variable} or ${variable}_FILE.`)
  return textOf(resolve(cwd, path))
}
