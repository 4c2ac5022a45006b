/**
 * Prints the path of a Node that runs this project, after it has installed one if needed, so that `npm start` holds no
 * second one.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureNode } from './node.js'
import { run } from './prepare.js'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
run(async () => {
  process.stdout.write(await ensureNode(root))
})
