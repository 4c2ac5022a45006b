import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { root } from '../kit/sources.ts'

t.test('a command whose output is closed early completes without an error', async (t) => {
  const child = spawn(process.execPath, [join(root, 'bin/sidevault.js'), 'plugins', 'list'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  t.equal(said, '')
  t.equal(code, 0)
})
