import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** A failure that the user can fix. Only its message is printed, no stack. */
export class BootstrapError extends Error {}

/**
 * Prints progress to standard error: standard output is for the output of `sidevault` itself.
 * @param {string} line
 */
export const say = (line) => {
  process.stderr.write(`${line}\n`)
}

const home = () => {
  try {
    return homedir()
  } catch {
    return '' // no HOME, and no entry in passwd
  }
}

/** Variables for npm and pip: paths, network, their own settings. None of Sidevault's secrets. */
const FOR_TOOLS =
  /^(PATH|LD_LIBRARY_PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|XDG_\w+|(HTTP|HTTPS|ALL|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NPM_CONFIG_.+|PIP_\w+|PYENV_\w+|SYSTEMROOT|COMSPEC|PATHEXT|APPDATA)$/i

const forTools = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => FOR_TOOLS.test(name)))

/**
 * Environment for npm and pip. All files that they write go below `.cache/`, but those of an npm cache that the user
 * names.
 * @param {string} root the project
 * @returns {NodeJS.ProcessEnv}
 */
export const toolEnvironment = (root) => {
  const temporary = join(root, '.cache', 'tmp')
  mkdirSync(temporary, { recursive: true })
  const env = {
    ...forTools(),
    TMPDIR: temporary,
    NODE_DISABLE_COMPILE_CACHE: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  }
  return home() ? env : { ...env, HOME: join(root, '.cache', 'home') }
}

/**
 * Runs a program until it exits, without the secrets of this environment.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeout?: number }} [options] `timeout` in milliseconds
 * @returns {Promise<{ code: number, output: string }>} code 127 when it does not exist; output holds both streams
 */
export const run = (file, args, options = {}) =>
  new Promise((resolve) => {
    let output = ''
    const child = spawn(file, args, { env: forTools(), ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const append = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk).slice(-64_000)
    }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', append).on('error', () => {})
    child.on('error', (error) => resolve({ code: 127, output: output || error.message }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })

/**
 * npm's cache: the user's, if set, else one of the project. npm reads the variable in both spellings, and sets the
 * second for `npm start`.
 * @param {string} root the project
 */
export const npmCache = (root) => {
  const { NPM_CONFIG_CACHE, npm_config_cache } = process.env
  return resolve(NPM_CONFIG_CACHE || npm_config_cache || join(root, '.cache', 'npm'))
}

/**
 * Runs npm: the one that started this process, if any.
 * @param {string} root the project
 * @param {string} cwd
 * @param {readonly string[]} args
 */
export const npm = async (root, cwd, args) => {
  const flags = [
    '--cache',
    npmCache(root),
    '--logs-max=0',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--loglevel=error',
    // without a network npm's default timeout is 70 s
    '--fetch-retries=3',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=8000',
  ]
  const cli = process.env.npm_execpath
  const [file, before] = cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
  const result = await run(file, [...before, ...args, ...flags], { cwd, env: toolEnvironment(root) })
  if (result.code === 127)
    throw new BootstrapError('npm was not found. Install npm 10 or newer (it comes with Node) and try again.')
  const [message = ''] = result.output.split('npm error Usage:')
  if (result.code !== 0)
    throw new BootstrapError(
      `"npm ${args.join(' ')}" failed with exit code ${result.code}:\n${message.trim()}\nIf the registry is unreachable, check the network and "registry" in your npm configuration, then try again.`,
    )
}
