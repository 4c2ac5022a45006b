import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeOf } from '../../common/errors.ts'
import { shellQuote } from '../../common/shell-quote.ts'
import { StartError } from '../../supervisor/start-error.ts'
import { checkFiles } from './check-template.ts'
import type { KINDS } from './kinds.ts'
import { taskFiles } from './task-templates.ts'
import {
  type Files,
  folderFiles,
  jsonFiles,
  type Names,
  npmFiles,
  packageOf,
  TYPE_MODULE,
} from './templates.ts'
import { webhookTypeFiles } from './webhook-type-template.ts'

type Form = 'folder' | 'json' | 'npm'

interface Scaffold {
  readonly form: Form
  readonly kind: (typeof KINDS)[number]
  /** The folder to create; its last part is the name of the plugin. */
  readonly path: string
  readonly cwd: string
}

/** Nothing was written. The message has the remedy. */
export class ScaffoldError extends Error {}

const BIN = fileURLToPath(new URL('../../../bin/sidevault.js', import.meta.url))
const NAME = /^[a-z][a-z0-9-]{0,49}$/
const NPM_PREFIX = 'sidevault-plugin-'
const TOKEN_TYPE_FILES = { folder: folderFiles, json: jsonFiles, npm: npmFiles } as const

const namesOf = (folder: string): Names => {
  const last = basename(folder)
  const name = last.startsWith(NPM_PREFIX) ? last.slice(NPM_PREFIX.length) : last
  if (!NAME.test(name))
    throw new ScaffoldError(
      `"${name}" cannot be the name of a plugin. Use lower-case letters, digits and dashes, a letter first, at most 50.`,
    )
  const words = name.replaceAll('-', ' ')
  return {
    name,
    type: name.replaceAll('-', '_'),
    title: words.charAt(0).toUpperCase() + words.slice(1),
    packageName: NPM_PREFIX + name,
  }
}

/** A path relative to the working directory, as typed in a shell. */
const typed = (path: string, cwd: string): string => {
  const short = relative(cwd, path)
  return short.startsWith('..') ? short : `./${short}`
}

/** Writes files into a folder, which must be new or empty. */
const writeFiles = (path: string, folder: string, files: Readonly<Record<string, string>>): void => {
  try {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new ScaffoldError(`"${path}" exists and is not empty. Name another folder.`)
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  } catch (error) {
    const code = codeOf(error)
    if (code === '') throw error
    throw new StartError(`"${path}" cannot be written (${code}). Name a folder that this user can write.`)
  }
}

const moduleFiles = (
  kind: Exclude<Scaffold['kind'], 'token-type'>,
  names: Names,
  extension: 'ts' | 'js',
): Files => {
  if (kind === 'check') return checkFiles(names, extension)
  return kind === 'webhook-type' ? webhookTypeFiles(names, extension) : taskFiles(kind, names, extension)
}

const filesOf = (form: Form, kind: Scaffold['kind'], names: Names): Files => {
  if (kind === 'token-type') return TOKEN_TYPE_FILES[form](names)
  if (form === 'json') throw new ScaffoldError(`A JSON file cannot hold a ${kind}. Use --folder or --npm.`)
  const extension = form === 'npm' ? 'js' : 'ts'
  return {
    ...moduleFiles(kind, names, extension),
    'package.json': form === 'npm' ? packageOf(names, `A ${kind}`) : TYPE_MODULE,
  }
}

/** Writes a plugin that passes `check` and its own test. Returns the text with the next steps. */
export const scaffold = ({ form, kind, path, cwd }: Scaffold): string => {
  const folder = resolve(cwd, path)
  const names = namesOf(folder)
  const files = filesOf(form, kind, names)
  writeFiles(path, folder, files)
  const here = typed(folder, cwd)
  const source = form === 'json' ? `${here}/${names.name}.json` : here
  const bin = `node ${shellQuote(typed(BIN, cwd).replace(/^\.\//, ''))}`
  const [shellSource, shellFolder] = [shellQuote(source), shellQuote(here)]
  return `${Object.keys(files)
    .map((name) => `wrote ${here}/${name}`)
    .join('\n')}

Next:
  ${bin} plugins check ${shellSource}
  ${bin} plugins test ${shellFolder}
  SIDEVAULT_PLUGINS=${shellQuote(`*,${source}`)} ${bin} start
`
}
