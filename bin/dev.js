#!/usr/bin/env node
/**
 * Development tasks (`npm test`, `npm run bench` and so on): `node bin/dev.js test|bench|docs|screenshots [arguments]`.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { excludeMemoryFromCoreFiles } from './bootstrap/memory.js'
import { prepare, run } from './bootstrap/prepare.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [task, ...args] = process.argv.slice(2)

run(async () => {
  excludeMemoryFromCoreFiles()
  if (!(await prepare(root, { packages: 'all', envoy: task !== 'docs' }))) return
  if (task === 'test') await (await import('../test/runner/run.ts')).test(root, args)
  else if (task === 'bench') await import('../test/bench/run.ts')
  else if (task === 'screenshots') {
    process.env.TAP_TIMEOUT = '0' // what it shares with tests imports tap
    await import('../test/console/screenshots.ts')
  } else await import('../test/docs/write.ts')
})
