import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const all = ['token:create', 'token:read', 'token:update', 'token:use', 'token:delete', 'token:search']
const { key } = await api.application('private', all)

const report = async (as = api.management) => {
  const { status, body } = await api.call('GET', '/tenants/self/reports/usage', { key: as })
  t.equal(status, 200)
  return body.token_report
}
const create = async (body: object, as = key) =>
  (await api.call('POST', '/tokens', { key: as, body })).body.id
const card = { type: 'card', data: { number: '4242424242424242' } }

t.test('"Usage report | … | Tenant Usage Report"', async (t) => {
  t.strictSame(await report(), {
    metrics_by_type: {},
    included_monthly_active_tokens: 0,
    monthly_active_tokens: 0,
    total_tokens: 0,
  })
  await create({ data: 'a' })
  api.clock.advance(1_000)
  const second = await create({ data: 'b' })
  const at = api.time()
  await create(card)
  t.strictSame(await report(), {
    metrics_by_type: { card: { count: 1, last_created_at: at }, token: { count: 2, last_created_at: at } },
    included_monthly_active_tokens: 0,
    monthly_active_tokens: 3,
    total_tokens: 3,
  })
  await api.call('DELETE', `/tokens/${second}`, { key })
  t.match(await report(), {
    metrics_by_type: { card: { count: 1 }, token: { count: 1 } },
    monthly_active_tokens: 3,
    total_tokens: 2,
  })
})

t.test(
  '"distinct tokens created, read or used since the first of the month (UTC), per tenant"',
  async (t) => {
    const tokens = [await create({ data: 1 }), await create({ data: 2 }), await create({ data: 3 })] as const
    const before = (await report()).monthly_active_tokens
    for (let i = 0; i < 3; i++) await api.call('GET', `/tokens/${tokens[0]}`, { key })
    t.equal((await report()).monthly_active_tokens, before, 'created in this month already')

    api.clock.advance(Date.UTC(2026, 3, 1) - api.clock.now() - 1)
    await api.call('GET', `/tokens/${tokens[0]}`, { key })
    api.clock.advance(1)
    t.equal((await report()).monthly_active_tokens, 0, 'a new month')
    await api.call('GET', `/tokens/${tokens[0]}`, { key })
    await api.call('GET', `/tokens/${tokens[0]}`, { key })
    await api.call('POST', '/detokenize', { key, body: [`{{ ${tokens[0]} }}`, `{{ ${tokens[1]} }}`] })
    t.equal((await report()).monthly_active_tokens, 2)
    await api.call('PATCH', `/tokens/${tokens[2]}`, { key, body: { metadata: { a: 'b' } } })
    t.equal((await report()).monthly_active_tokens, 2, 'an update alone is none of the three')

    const id = 'chosen'
    await create({ id, data: 'x' })
    await api.call('DELETE', `/tokens/${id}`, { key })
    await create({ id, data: 'y' })
    t.equal((await report()).monthly_active_tokens, 4, 'two tokens, though of one id')
    await create({ data: 'twin', deduplicate_token: true })
    await create({ data: 'twin', deduplicate_token: true })
    t.equal((await report()).monthly_active_tokens, 5)

    const other = await api.otherTenant()
    await create({ data: 'theirs' }, await other.application(all))
    t.equal((await report(other.key)).monthly_active_tokens, 1)
    t.equal((await report()).monthly_active_tokens, 5)
  },
)

t.test('"exact under concurrency"', async (t) => {
  const { monthly_active_tokens: before, total_tokens: total } = await report()
  const ids = await Promise.all(Array.from({ length: 64 }, (_, i) => create({ data: i })))
  await Promise.all(
    ids.flatMap((id) => [
      api.call('GET', `/tokens/${id}`, { key }),
      api.call('POST', '/detokenize', { key, body: `{{ ${id} }}` }),
      report(),
    ]),
  )
  const after = await report()
  t.equal(after.monthly_active_tokens, before + 64)
  t.equal(after.total_tokens, total + 64)
})
