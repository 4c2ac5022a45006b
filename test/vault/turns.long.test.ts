import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

/** Milliseconds that one turn of the event loop may take of the processor. */
const MOST = 50

const PROCESS = fileURLToPath(new URL('./turns-process.ts', import.meta.url))

t.test('no turn of the event loop is long under the heaviest calls', async (t) => {
  // In a process of its own: tap watches every promise here, which costs as much again, and more to collect.
  const { stdout } = await promisify(execFile)(process.execPath, [PROCESS])
  for (const [name, longest] of Object.entries<number>(JSON.parse(stdout))) {
    t.comment(`${name}: ${longest.toFixed(1)} ms`)
    t.ok(longest <= MOST, name)
  }
})
