import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import type { ConfigIssue } from './issue.ts'
import { SettingError } from './parse.ts'
import {
  HIDDEN,
  type SettingName,
  type Settings,
  settingNames,
  settingOf,
  settingsSchema,
  variableOf,
} from './schema.ts'
import { readSecretVariable } from './secret-variable.ts'
import { matches } from './validate.ts'
import { fileVariableOf, fixOfUnknown, secretNames, unknownVariables } from './variables.ts'
import { yaml } from './yaml.ts'

/** Unchecked members of a configuration file. */
export type FileContent = Readonly<Record<string, unknown>>

interface Read {
  readonly settings: Settings
  readonly content: FileContent
  readonly issues: readonly ConfigIssue[]
}

const fromText = (text: string, type: string): unknown => {
  if (type === 'boolean')
    return { true: true, false: false, '1': true, '0': false }[text.toLowerCase()] ?? text
  if (type === 'integer') return /^\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'array')
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  if (type !== 'object') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Location and code of a parser's error or warning. Its message quotes the text, which may contain secrets. */
const locationOf = (error: unknown): string => {
  const { code, linePos } = error as { code?: string; linePos?: readonly { line: number; col: number }[] }
  const at = linePos?.[0]
  return at === undefined ? '' : ` at line ${at.line}, column ${at.col} (${code})`
}

const readFile = (path: string, issues: ConfigIssue[]): Record<string, unknown> => {
  const issue = (problem: string, fix: string) => {
    issues.push({ name: 'SIDEVAULT_CONFIG', message: problem, fix })
    return {}
  }
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = codeOf(error) || 'unknown error'
    return issue(`the file "${path}" cannot be read (${code}).`, 'Name a readable JSON or YAML file.')
  }
  try {
    // YAML 1.2 holds JSON. `parse` and the default `logLevel` would print warnings with the text.
    const document = yaml().parseDocument(text, { logLevel: 'error' })
    const [invalid] = [...document.errors, ...document.warnings]
    if (invalid !== undefined) throw invalid
    const content: unknown = document.toJS()
    if (content === null || content === undefined) return {}
    if (isObject(content)) return content
  } catch (error) {
    return issue(`the file "${path}" is not valid YAML or JSON${locationOf(error)}.`, 'Correct the file.')
  }
  return issue(`the file "${path}" is not a JSON or YAML object.`, 'Write one member for each setting.')
}

/** True for the placeholder of a printed secret: as a key it would be a public one. */
const isHidden = (value: unknown): boolean =>
  value === HIDDEN || (isObject(value) && Object.values(value).includes(HIDDEN))

/** Accepts lists as text, and numbers in lists or as text, as for variables. */
const fromFile = (value: unknown, name: SettingName): unknown => {
  const { type } = settingOf(name)
  if (type === 'string' && typeof value === 'number') return String(value)
  if (type === 'array' && (typeof value === 'string' || typeof value === 'number'))
    return fromText(String(value), type)
  if (type === 'array' && Array.isArray(value))
    return value.map((item) => (typeof item === 'number' ? String(item) : item))
  return value
}

/** Values in the files that `…_FILE` variables name, by setting. */
const readSecretFiles = (env: NodeJS.ProcessEnv, cwd: string, issues: ConfigIssue[]): FileContent => {
  const values: Record<string, unknown> = {}
  for (const name of secretNames) {
    try {
      const text = readSecretVariable(env, variableOf(name), cwd)
      if (text !== undefined) values[name] = fromText(text, settingOf(name).type)
    } catch (error) {
      if (!(error instanceof SettingError)) throw error
      issues.push({ name: fileVariableOf(name), message: error.message, fix: error.fix })
    }
  }
  return values
}

/**
 * Merges the environment over the file named by SIDEVAULT_CONFIG, or over accepted content, and checks both against the
 * schema. `content` in the result includes values of `…_FILE` variables. An empty variable counts as unset. Settings
 * with an issue are left out. `named`: name or source of a variable that the command line names.
 */
export const readSettings = (
  env: NodeJS.ProcessEnv,
  from: {
    readonly file: string | undefined
    readonly content: FileContent | undefined
    readonly named: string | undefined
  },
  cwd: string,
): Read => {
  const issues: ConfigIssue[] = []
  const merged: Record<string, unknown> = {}
  const inFile = from.content === undefined && from.file ? readFile(resolve(cwd, from.file), issues) : {}
  // Editors find the schema of a JSON file by this member.
  const known = new Set<string>(['$schema', ...settingNames])
  for (const name of Object.keys(inFile))
    if (!known.has(name))
      issues.push({
        name: 'SIDEVAULT_CONFIG',
        // Another name may be a value in the wrong place.
        message: `${/^[\w-]{1,40}$/.test(name) ? `"${name}"` : 'a member'} in the configuration file is not a setting.`,
        fix: fixOfUnknown(name, settingNames),
      })
  const inSecretFiles = from.content === undefined ? readSecretFiles(env, cwd, issues) : {}
  const content = from.content ?? { ...inFile, ...inSecretFiles }
  for (const name of settingNames) {
    const text = env[variableOf(name)]
    const value = content[name]
    if (text) merged[name] = fromText(text, settingOf(name).type)
    else if (value !== undefined && value !== null) merged[name] = fromFile(value, name)
    else continue
    const { description, secret } = settingOf(name)
    const issue = (message: string, fix: string) => {
      issues.push({ name: name in inSecretFiles ? fileVariableOf(name) : variableOf(name), message, fix })
      delete merged[name]
    }
    if (secret && isHidden(merged[name]))
      issue(
        `"${HIDDEN}" is the placeholder of "config print" for a secret.`,
        'Write the value, or remove the setting.',
      )
    else if (!matches(settingsSchema.properties[name], merged[name]))
      issue(
        secret ? 'the value is not valid.' : `${JSON.stringify(text ?? value)} is not valid.`,
        `Expected: ${description}`,
      )
  }
  const settings = merged as Settings
  // A process of the service has the environment of its supervisor, which has checked it.
  if (from.content === undefined)
    issues.push(...unknownVariables(env, [settings.root_key, settings.delegated_key, from.named]))
  return { settings, content, issues }
}
