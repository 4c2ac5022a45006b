#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureDependencies } from './bootstrap/dependencies.js'
import { ensureNode } from './bootstrap/node.js'

/** `npm run docs`: writes docs/reference/ from the code. */
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const node = await ensureNode(root)
await ensureDependencies(root, 'all')
process.exitCode = spawnSync(node, [join(root, 'test/docs/write.ts')], { stdio: 'inherit' }).status ?? 1
