import t from 'tap'
import { createBackgroundBudget } from '../../../plugins/reactors/background-budget.ts'
import { startTestService } from '../../kit/service.ts'

const MIB = 1024 * 1024
const WAITS = 'module.exports = () => new Promise((done) => setTimeout(() => done({ raw: 1 }), 29000))'

t.test('concurrent calls start background invocations up to the share of their tenant', async (t) => {
  const { call, application } = await startTestService(t)
  const key = await application({ permissions: ['token:use'] })
  const { id } = (await call('POST', '/reactors', { body: { name: 'R', code: WAITS } })).json
  const start = () => call('POST', `/reactors/${id}/react-async`, { key, body: {} })
  const statuses = (await Promise.all(Array.from({ length: 540 }, start))).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 202).length, 500)
  t.equal(statuses.filter((status) => status === 429).length, 40)
})

t.test('arguments of background invocations hold 64 MiB of a tenant at most', async (t) => {
  const { call, application } = await startTestService(t)
  const key = await application({ permissions: ['token:create', 'token:use'] })
  const { id } = (await call('POST', '/reactors', { body: { name: 'R', code: WAITS } })).json
  const token = await call('POST', '/tokens', { key, body: { type: 'token', data: 'x'.repeat(1_000_000) } })
  const start = (args: object) => call('POST', `/reactors/${id}/react-async`, { key, body: { args } })
  const large = { a: `{{ ${token.json.id} }}`.repeat(5) }
  let started = 0
  let last = await start(large)
  for (; last.status === 202 && started < 30; last = await start(large)) started++
  t.equal(started, 13)
  t.match(last, {
    status: 429,
    headers: { 'retry-after': '1' },
    json: { code: 'rate_limited' },
  })
  t.equal((await start({ a: 1 })).status, 202, 'small ones start')
})

t.test('a budget counts invocations and bytes by tenant and in all, until they are released', async (t) => {
  const take = createBackgroundBudget({ count: 4, bytes: 4 * MIB })
  const argument = [{ text: 'x'.repeat(MIB - 100) }]
  const release = take('a', argument)
  take('a', 1)
  t.throws(() => take('a', 1), { code: 'rate_limited' }, 'half of the invocations')
  take('b', 1)
  take('c', 1)
  t.throws(() => take('d', 1), { code: 'overloaded' }, 'all invocations')
  release()
  const large = argument.concat(argument)
  t.throws(() => take('a', large), { code: 'rate_limited' }, 'half of the bytes')
  take('d', large.concat(argument))
  t.throws(() => take('e', 1), { code: 'overloaded' })
})
