import t from 'tap'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'

const COUNT = 'let calls = 0; module.exports = async () => ({ raw: { calls: ++calls } })'

/** What a reactor that counts its calls in a variable of its module answers three times. */
const counted = async ({ call, application, managementKey }: Sidevault): Promise<unknown[]> => {
  const { json } = await call('POST', '/reactors', {
    key: managementKey,
    body: { name: 'count', code: COUNT },
  })
  const key = await application({ permissions: ['token:use'] })
  const answers: unknown[] = []
  for (let turn = 0; turn < 3; turn++)
    answers.push(
      (await call('POST', `/reactors/${json.id}/react`, { key, body: { args: {} } })).json.raw?.calls,
    )
  return answers
}

const serve = async (test: Pick<typeof t, 'teardown'>, env: Record<string, string>) => {
  const sidevault = await startSidevault({ env })
  test.teardown(() => sidevault.stop())
  return counted(sidevault)
}

t.test('each call of a service has a context of its own', async (test) => {
  test.same(await serve(test, {}), [1, 1, 1])
})

t.test('a service whose operator chose warm contexts keeps them', async (test) => {
  const calls = await serve(test, { SIDEVAULT_WARM_CONTEXTS: 'true' })
  // three calls in two children
  test.ok(calls.includes(2), `the calls counted ${calls}`)
})
