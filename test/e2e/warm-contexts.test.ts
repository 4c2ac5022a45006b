import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'

t.test('a service with warm contexts enabled reuses them', async (t) => {
  const { call, application, managementKey, stop } = await startSidevault({
    env: { SIDEVAULT_REUSE_CONTEXTS: 'true' },
  })
  t.teardown(stop)
  const { json } = await call('POST', '/reactors', {
    key: managementKey,
    body: {
      name: 'count',
      code: 'let calls = 0; module.exports = async () => ({ raw: { calls: ++calls } })',
    },
  })
  const key = await application({ permissions: ['token:use'] })
  const calls: unknown[] = []
  for (let turn = 0; turn < 3; turn++)
    calls.push(
      (await call('POST', `/reactors/${json.id}/react`, { key, body: { args: {} } })).json.raw?.calls,
    )
  // three calls in two children
  t.ok(calls.includes(2), `the calls counted ${calls}`)
})
