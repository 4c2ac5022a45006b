#!/usr/bin/env node
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closeInherited } from './bootstrap/descriptors.js'
import { excludeMemoryFromCoreFiles } from './bootstrap/memory.js'
import { prepare, run } from './bootstrap/prepare.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const args = process.argv.slice(2)
const starts = args.find((arg) => !arg.startsWith('-')) === 'start'
/** The role admin with a listener of its own starts no Envoy. */
const alone = /(^| )--role[ =]admin( |$)/.test(args.join(' ')) && Boolean(process.env.SIDEVAULT_API_LISTEN)
const asksForHelp = args.includes('--help') || args.includes('-h')

run(async () => {
  excludeMemoryFromCoreFiles()
  if (starts) closeInherited()
  if (!(await prepare(root, { packages: 'production', envoy: starts && !asksForHelp && !alone }))) return
  const { enableCompileCache } = await import('node:module') // Node 20 has none
  process.env.NODE_COMPILE_CACHE = join(root, '.cache', 'compiled') // for child processes
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
  const { main } = await import(new URL('../src/main.ts', import.meta.url).href)
  await main(process.argv)
})
