import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)

t.test('"Get tenant GET /tenants/self … Tenant of the calling key."', async (t) => {
  const { status, body } = await api.call('GET', '/tenants/self', { key: api.management })
  t.equal(status, 200)
  t.match(body, { id: /^[0-9a-f-]{36}$/, owner_id: /^[0-9a-f-]{36}$/, name: String, settings: Object })
  const { body: application } = await api.call('GET', '/applications/key', { key: api.management })
  t.equal(body.id, application.tenant_id)
})

t.test('"Permission tenant:read"', async (t) => {
  const { key: without } = await api.application('management', ['log:read'])
  t.equal((await api.call('GET', '/tenants/self', { key: without })).status, 403)
  const { key } = await api.application('management', ['tenant:read'])
  t.equal((await api.call('GET', '/tenants/self', { key })).status, 200)
})
