import t from 'tap'
import { runCode } from '../../src/host-api/code.ts'
import { NO_HOST } from '../sandbox/kit.ts'

t.test('a result that is not JSON is an error of the code', async (t) => {
  const timing = { waited: 0, cpu: 0, wall: 0 }
  const returning = (json: string) =>
    runCode({ run: async () => ({ kind: 'returned', json, console: [], timing }) }, NO_HOST, {
      tenantId: 't',
      name: 'reactor',
      code: '',
      argument: {},
      signal: new AbortController().signal,
    })
  t.equal(await returning('7'), 7)
  await t.rejects(returning('no json'), { code: 'code_failed' })
})
