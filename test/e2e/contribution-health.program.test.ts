import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'
import { until } from '../kit/until.ts'

const PLUGIN = `
export const plugin = {
  api: 1,
  name: 'unwell',
  version: '1.0.0',
  setup: () => ({
    tokenTypes: [{ name: 'badge', title: 'Badge', container: '/badges/', data: { type: 'object' },
      health: async () => ({ degraded: 'The list of badges is a day old.' }) }],
    checks: [{ name: 'hours', on: 'request', fail: 'open', handle: async () => undefined,
      health: () => new Promise(() => {}) }],
    jobs: [{ name: 'tidy', every: 3600, run: async () => {},
      health: async () => { throw new Error('password=hunter2') } }],
    consumers: [{ name: 'lines', from: 'now', handle: async () => {}, health: async () => undefined }],
  }),
}
`

t.test('contributions report how they are: one that hangs or throws leaves the node ready', async (t) => {
  const folder = t.testdir({ unwell: { 'package.json': '{"type":"module"}', 'index.js': PLUGIN } })
  const vault = await startSidevault({ cwd: folder, env: { SIDEVAULT_PLUGINS: '*,./unwell' } })
  t.teardown(() => vault.stop())
  const ready = () => vault.call('GET', '/readyz')
  const component = async (name: string) =>
    (await ready()).json.components.find((each: { name: string }) => each.name === name)
  await until('a first result of each', async () => {
    const names = ['gateway-0-check:hours', 'job:unwell/tidy', 'token-type:badge']
    const states = await Promise.all(names.map(component))
    return states.every((state) => state?.status === 'degraded')
  })
  const { status, json, text } = await ready()
  t.equal(status, 200)
  t.equal(json.status, 'degraded')
  for (const [name, expected] of Object.entries({
    'token-type:badge': { status: 'degraded', detail: 'The list of badges is a day old.' },
    'gateway-0-check:hours': { status: 'degraded', detail: /did not settle within 2 s/ },
    'job:unwell/tidy': { status: 'degraded', detail: /^Its health function failed/ },
    'consumer:unwell/lines': { status: 'ok', lag_seconds: 0 },
  }))
    t.match(await component(name), expected, name)
  t.notMatch(text, /hunter2/)
})
