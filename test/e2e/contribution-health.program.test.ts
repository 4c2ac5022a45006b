import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort, startSidevault } from '../kit/sidevault.ts'
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

const projectOf = (t: Test) =>
  t.testdir({ unwell: { 'package.json': '{"type":"module"}', 'index.js': PLUGIN } })

t.test('contributions report how they are: one that hangs or throws leaves the node ready', async (t) => {
  const vault = await startSidevault({ cwd: projectOf(t), env: { SIDEVAULT_PLUGINS: '*,./unwell' } })
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

t.test('of nodes with one role, each reports what it uses', async (t) => {
  const options = { cwd: projectOf(t), dataDir: directoryFor(t) }
  const env = { SIDEVAULT_PLUGINS: '*,./unwell', SIDEVAULT_WORKERS: '2' }
  const admin = await startSidevault({ ...options, role: 'admin', env })
  t.teardown(() => admin.stop())
  const ops = `127.0.0.1:${await freePort()}`
  const gateway = await startSidevault({
    ...options,
    role: 'gateway',
    env: { ...env, SIDEVAULT_OPS_LISTEN: ops },
  })
  t.teardown(() => gateway.stop())
  const reported = async (response: Promise<{ components: { name: string }[] }>) =>
    (await response).components.map(({ name }) => name).filter((name) => name.includes(':'))
  const ofGateway = fetch(`http://${ops}/readyz`).then((response) => response.json())
  t.strictSame(
    new Set(await reported(ofGateway as never)),
    new Set(['check:hours', 'token-type:badge', 'gateway-1-check:hours']),
  )
  const ofAdmin = await reported(admin.call('GET', '/readyz').then(({ json }) => json))
  t.ok(ofAdmin.includes('token-type:badge') && ofAdmin.includes('job:unwell/tidy'))
  t.notOk(
    ofAdmin.some((name) => name.includes('check:')),
    'it runs no check',
  )
})
