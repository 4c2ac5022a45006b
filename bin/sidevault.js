#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureDependencies } from './bootstrap/dependencies.js'
import { closeInherited } from './bootstrap/descriptors.js'
import { ensureEnvoy } from './bootstrap/envoy.js'
import { keepMemoryOutOfCores } from './bootstrap/memory.js'
import { ensureNode } from './bootstrap/node.js'
import { BootstrapError } from './bootstrap/run.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const args = process.argv.slice(2)
const command = args.find((arg) => !arg.startsWith('-'))
const asksForHelp = args.includes('--help') || args.includes('-h')

const needs = {
  development: (command === 'test' || command === 'bench') && !asksForHelp,
  envoy: (command === 'start' || command === 'test' || command === 'bench') && !asksForHelp,
}

/**
 * Goes on under another Node. This process stays as its proxy: signals go down, the exit code comes up, and the
 * IPC channel tells the other one if this one is killed.
 * @param {string} node
 */
const continueWith = (node) => {
  const child = spawn(node, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal))
  // npm may be killed without a word to us
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.env.npm_lifecycle_event === undefined || process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
  child.on('exit', (code, signal) => {
    clearInterval(watch)
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 1)
    process.removeAllListeners()
  })
}

const main = async () => {
  keepMemoryOutOfCores()
  if (command === 'start') closeInherited()
  const node = await ensureNode(root)
  if (node !== process.execPath) return continueWith(node)
  const [envoy] = await Promise.all([
    needs.envoy ? ensureEnvoy(root) : process.env.ENVOY_BIN,
    ensureDependencies(root, needs.development ? 'all' : 'production'),
  ])
  if (envoy) process.env.ENVOY_BIN = envoy
  if (command === 'test' && !asksForHelp)
    return (await import('./test.js')).test(root, args.slice(args.indexOf('test') + 1))
  const { enableCompileCache } = await import('node:module') // Node 20 has none
  process.env.NODE_COMPILE_CACHE = join(root, '.cache', 'compiled') // for the processes below this one
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
  const { main } = await import(new URL('../src/main.ts', import.meta.url).href)
  await main(process.argv)
}

main().catch((error) => {
  if (!(error instanceof BootstrapError)) throw error
  process.stderr.write(`sidevault: ${error.message}\n`)
  process.exitCode = 1
})
