import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { startBlind } from './start.ts'

/** A plugin that never becomes healthy. */
const ILL = `export const plugin = {
  api: 1, name: 'ill', version: '1.0.0',
  setup: () => ({ health: async () => { throw new Error('away') } }),
}
`
const folder = t.testdir({ 'package.json': '{"type":"module"}', ill: { 'index.js': ILL }, data: {} })
const port = await freePort()
const begin = () => startBlind(`${folder}/data`, { port, env: { SIDEVAULT_PLUGINS: `*,${folder}/ill` } })

const interrupt = async ({ child }: ReturnType<typeof begin>) => {
  const processes = descendants(child.pid ?? 0)
  child.kill('SIGTERM')
  await until('it has ended', () => child.exitCode !== null || child.signalCode !== null)
  await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
}

t.test('a start interrupted at any time ends, and leaves no process', async () => {
  for (const ms of [150, 500, 1_000]) {
    const started = begin()
    await setTimeout(ms)
    await interrupt(started)
  }
})

t.test(
  'a start whose plugin never becomes healthy does not log its own checks, and is interrupted',
  async (t) => {
    const started = begin()
    const { child, output } = started
    await until('the edge responds', async () => {
      const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
      return response?.status === 200 || child.exitCode !== null
    })
    await setTimeout(1_500)
    t.equal(child.exitCode, null, output.stderr)
    t.notMatch(output.stderr, /"operation":"readyz"|"process":"envoy"/)
    t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 503)
    await interrupt(started)
  },
)
