import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { steadyClock } from '../../src/common/clock.ts'
import { manage } from '../../src/supervisor/managed-process.ts'
import { silentLog } from '../kit/egress.ts'

t.test('a process that cannot be respawned at once is spawned when possible', async (t) => {
  const { promise: back, resolve } = Promise.withResolvers<void>()
  let births = 0
  const one = manage(
    {
      name: 'one',
      spawn: () => {
        births++
        if (births === 2 || births === 3) throw new Error('spawn ENOMEM')
        return spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' })
      },
      ready: async (child) => {
        if (child.pid === undefined) await once(child, 'spawn')
        if (births === 4) resolve()
      },
    },
    { log: silentLog(), clock: steadyClock },
  )
  await one.started
  one.child?.kill('SIGKILL')
  await back
  t.equal(births, 4)
  await one.stop((child) => child.kill('SIGKILL'), 10_000)
  t.equal(one.child, undefined)
})

t.test('a process that cannot be spawned at first is a failed start', (t) => {
  const impossible = () => {
    throw new Error('spawn ENOMEM')
  }
  t.throws(
    () =>
      manage(
        { name: 'one', spawn: impossible, ready: async () => {} },
        { log: silentLog(), clock: steadyClock },
      ),
    /ENOMEM/,
  )
  t.end()
})
