import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { detectConfinement } from '../../../src/sandbox/parent/confinement.ts'
import { Pool } from '../../../src/sandbox/parent/pool.ts'
import { startText } from '../../../src/sandbox/parent/sources.ts'
import { spawnChild } from '../../../src/sandbox/parent/spawn.ts'
import { createTrustTracker } from '../../../src/sandbox/parent/trust.ts'
import { silentLog } from '../../kit/egress.ts'

/** Opens every file handle of this process when its first child has exited, until the second spawn has failed. */
const starve = async (): Promise<void> => {
  const handles: number[] = []
  const confinement = await detectConfinement([], silentLog())
  const start = startText({ argumentBytes: 1_000, aheadMs: 50 })
  const { promise: back, resolve } = Promise.withResolvers<void>()
  let started = 0
  let failed = 0
  const pool = new Pool(1, {
    log: silentLog(),
    now: () => performance.now(),
    maxBytes: 1_000_000,
    oneTenantPerChild: false,
    trust: createTrustTracker({ now: () => 0 }),
    onChild: (pid, what) => {
      if (what === 'ended') {
        if (started === 1)
          try {
            for (;;) handles.push(openSync('/dev/null', 'r'))
          } catch {
            // no handle is left
          }
        return
      }
      if (++started === 1) setImmediate(() => pool.ready.then(() => process.kill(pid, 'SIGKILL')))
      else resolve()
    },
    spawn: () => {
      try {
        return spawnChild(confinement, start)
      } catch (error) {
        if (++failed === 2) for (const handle of handles.splice(0)) closeSync(handle)
        throw error
      }
    },
  })
  await back
  await pool.close()
  process.stdout.write(`started ${started}, failed ${failed}\n`)
  process.exit(0)
}

if (process.argv[2] === 'starve') await starve()
else
  t.test(
    'a process without free file handles continues, and spawns its child when a handle is free',
    async (t) => {
      const command = `ulimit -n 120; exec "${process.execPath}" "${fileURLToPath(import.meta.url)}" starve`
      const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          text += chunk
        })
      await new Promise((resolve) => child.once('close', resolve))
      t.equal(text, 'started 2, failed 2\n')
    },
  )
