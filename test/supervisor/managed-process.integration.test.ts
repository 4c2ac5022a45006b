import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { steadyClock } from '../../src/common/clock.ts'
import { manage } from '../../src/supervisor/managed-process.ts'
import { silentLog } from '../kit/egress.ts'

t.test('a process that cannot be respawned at once is spawned when possible', async (t) => {
  const { promise: back, resolve } = Promise.withResolvers<void>()
  let spawns = 0
  const managed = manage(
    {
      name: 'probe',
      spawn: () => {
        spawns++
        if (spawns === 2 || spawns === 3) throw new Error('spawn ENOMEM')
        return spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' })
      },
      ready: async (child) => {
        if (child.pid === undefined) await once(child, 'spawn')
        if (spawns === 4) resolve()
      },
    },
    { log: silentLog(), clock: steadyClock },
  )
  await managed.started
  managed.child?.kill('SIGKILL')
  await back
  t.equal(spawns, 4)
  await managed.stop((child) => child.kill('SIGKILL'), {
    graceMs: 10_000,
    kill: new AbortController().signal,
  })
  t.equal(managed.child, undefined)
})

t.test('a process that cannot be spawned at first is a failed start', (t) => {
  const impossible = () => {
    throw new Error('spawn ENOMEM')
  }
  t.throws(
    () =>
      manage(
        { name: 'probe', spawn: impossible, ready: async () => {} },
        { log: silentLog(), clock: steadyClock },
      ),
    /ENOMEM/,
  )
  t.end()
})
