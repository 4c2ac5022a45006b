import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort } from '../kit/sidevault.ts'
import { until } from './processes.ts'
import { startBlind } from './start.ts'

/** A plugin that never becomes healthy. */
const ILL = `export const plugin = {
  api: 1, name: 'ill', version: '1.0.0',
  setup: () => ({ health: async () => { throw new Error('away') } }),
}
`

t.test('a start does not log its own checks', async (t) => {
  const cwd = t.testdir({ 'package.json': '{"type":"module"}', ill: { 'index.js': ILL } })
  const env = { SIDEVAULT_PLUGINS: `*,${cwd}/ill` }
  const port = await freePort()
  const { child, output, exited } = startBlind(directoryFor(t), { port, env })
  await until('the edge responds', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    return response?.status === 200 || child.exitCode !== null
  })
  await setTimeout(1_500)
  t.equal(child.exitCode, null, output.stderr)
  t.notMatch(output.stderr, /"operation":"readyz"|"process":"envoy"/)
  t.match((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 503)
  child.kill('SIGTERM')
  await exited
})
