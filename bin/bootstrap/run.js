import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A failure that the user can mend: only its sentence is printed, no stack. */
export class BootstrapError extends Error {}

/**
 * Progress goes to standard error, so that what `sidevault` itself prints stays alone on standard output.
 * @param {string} line
 */
export const say = (line) => {
  process.stderr.write(`${line}\n`)
}

const home = () => {
  try {
    return homedir()
  } catch {
    return '' // no HOME, and a user without an entry in passwd
  }
}

/** What tools may need of our environment: where things are, how the network is reached, their own settings. No secret of ours. */
const FOR_TOOLS =
  /^(PATH|LD_LIBRARY_PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|XDG_\w+|(HTTP|HTTPS|ALL|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NPM_CONFIG_.+|PIP_\w+|PYENV_\w+|SYSTEMROOT|COMSPEC|PATHEXT|APPDATA)$/i

const forTools = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => FOR_TOOLS.test(name)))

/**
 * The environment for npm and pip: whatever they write goes below `.cache/`.
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
 * Runs a program to its end, without our environment's secrets.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeout?: number }} [options] `timeout` in milliseconds
 * @returns {Promise<{ code: number, output: string }>} code 127 when it does not exist; output holds both streams
 */
export const run = (file, args, options = {}) =>
  new Promise((resolve) => {
    let output = ''
    const child = spawn(file, args, { env: forTools(), ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const keep = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk).slice(-64_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => resolve({ code: 127, output: output || error.message }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })

/**
 * Runs npm, the one that started us when there is one.
 * @param {string} root the project, whose `.cache/npm` is npm's cache
 * @param {string} cwd
 * @param {readonly string[]} args
 */
export const npm = async (root, cwd, args) => {
  const flags = [
    '--cache',
    join(root, '.cache', 'npm'),
    '--logs-max=0',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--loglevel=error',
    // without a network npm's own patience is 70 s
    '--fetch-retries=3',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=8000',
  ]
  const cli = process.env.npm_execpath
  const [file, before] = cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
  const result = await run(file, [...before, ...args, ...flags], { cwd, env: toolEnvironment(root) })
  if (result.code === 127)
    throw new BootstrapError('npm was not found. Install npm 10 or newer (it comes with Node) and try again.')
  const [said = ''] = result.output.split('npm error Usage:')
  if (result.code !== 0)
    throw new BootstrapError(
      `"npm ${args.join(' ')}" failed with exit code ${result.code}:\n${said.trim()}\nIf the registry cannot be reached, see to the network or "registry" in your npm configuration, then try again.`,
    )
}
