import t from 'tap'
import { createBackgroundBudget } from '../../../plugins/reactors/background-budget.ts'
import { startTestService } from '../../kit/service.ts'

const MIB = 1024 * 1024
const WAITS = 'module.exports = () => new Promise((done) => setTimeout(() => done({ raw: 1 }), 20000))'

t.test('concurrent calls start no more than 100 background invocations of a tenant', async (t) => {
  const { call, application } = await startTestService(t)
  const key = await application({ permissions: ['token:use'] })
  const { id } = (await call('POST', '/reactors', { body: { name: 'R', code: WAITS } })).json
  const start = () => call('POST', `/reactors/${id}/react-async`, { key, body: {} })
  const statuses = (await Promise.all(Array.from({ length: 140 }, start))).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 202).length, 100)
  t.equal(statuses.filter((status) => status === 503).length, 40)
})

t.test('arguments of background invocations are limited to 64 MiB a tenant', async (t) => {
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
    headers: { 'retry-after': '5' },
    json: { code: 'rate_limited', detail: /64 MiB/ },
  })
  t.equal((await start({ a: 1 })).status, 202, 'small ones start')
})

t.test('a budget counts invocations and bytes by tenant and in all, until they are released', async (t) => {
  const { take } = createBackgroundBudget({
    count: 4,
    countOfTenant: 3,
    bytes: 3 * MIB,
    bytesOfTenant: 2 * MIB,
  })
  const half = [{ text: 'x'.repeat(MIB - 100) }]
  const release = take('a', half)
  take('a', half)
  t.throws(() => take('a', half), { code: 'rate_limited', retryAfter: 5 })
  take('a', 1)
  t.throws(() => take('a', 1), { code: 'overloaded' })
  const other = take('b', half)
  t.throws(() => take('c', 1), { code: 'overloaded' }, 'four in all')
  release()
  other()
  take('c', half)
  t.throws(() => take('c', half.concat(half)), { code: 'rate_limited' })
  t.throws(() => take('d', half.concat(half)), { code: 'overloaded' }, 'bytes of all')
})
