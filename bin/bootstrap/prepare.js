import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { ensureDependencies } from './dependencies.js'
import { ensureEnvoy } from './envoy.js'
import { ensureNode } from './node.js'
import { whyUnsupported } from './platform.js'
import { BootstrapError } from './run.js'

/**
 * Runs this program under another Node. This process forwards signals and the exit code. When it is killed, the IPC
 * channel of the other process closes.
 * @param {string} node
 */
export const continueWith = (node) => {
  const child = spawn(node, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  for (const signal of /** @type {const} */ ([
    'SIGINT',
    'SIGTERM',
    'SIGHUP',
    'SIGQUIT',
    'SIGUSR1',
    'SIGUSR2',
  ]))
    process.on(signal, () => child.kill(signal))
  // A killed npm sends no signal.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.env.npm_lifecycle_event === undefined || process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
  const end = (/** @type {number} */ code) => {
    clearInterval(watch)
    process.exitCode = code
    process.removeAllListeners()
  }
  child.on('error', ({ message }) => {
    if (child.pid !== undefined) return
    process.stderr.write(
      `sidevault: ${node} cannot be started (${message}). Check its file, then start again.\n`,
    )
    end(1)
  })
  child.on('exit', (code, signal) => end(code ?? 128 + (signal ? constants.signals[signal] : 1)))
}

/**
 * Installs Node, packages and, with `envoy`, Envoy when they are missing. False when another Node continues the
 * program.
 * @param {string} root the project
 * @param {{ packages: 'production' | 'all', envoy: boolean }} needs
 * @returns {Promise<boolean>}
 */
export const prepare = async (root, needs) => {
  const reason = whyUnsupported()
  if (reason) throw new BootstrapError(reason)
  const node = await ensureNode(root)
  if (node !== process.execPath) {
    continueWith(node)
    return false
  }
  const [envoy] = await Promise.all([
    needs.envoy ? ensureEnvoy(root) : process.env.ENVOY_BIN,
    ensureDependencies(root, needs.packages),
  ])
  if (envoy) process.env.ENVOY_BIN = envoy
  return true
}

/**
 * Runs a program; a BootstrapError prints only its message.
 * @param {() => Promise<void>} main
 */
export const run = (main) =>
  main().catch((error) => {
    if (!(error instanceof BootstrapError)) throw error
    process.stderr.write(`sidevault: ${error.message}\n`)
    process.exitCode = 1
  })
