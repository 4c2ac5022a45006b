import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)

t.test('"Requests carry the header SVC-API-KEY" — without, or with an unknown key: 401', async (t) => {
  for (const headers of [{}, { 'svc-api-key': '' }, { 'svc-api-key': 'key_unknown' }]) {
    const { status, body } = await api.call('GET', '/tenants/self', { headers })
    t.equal(status, 401)
    t.match(body, { title: String, status: 401, detail: String })
  }
  t.equal(
    (await api.call('GET', '/tenants/self', { headers: { 'Svc-Api-Key': api.management } })).status,
    200,
  )
})

t.test('"Keys belong to applications" — a deleted application\'s keys "stop working at once"', async (t) => {
  const { id, key } = await api.application('private', ['token:create'])
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 200)
  t.equal((await api.call('DELETE', `/applications/${id}`, { key: api.management })).status, 204)
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 401)
  t.equal((await api.call('GET', `/applications/${id}`, { key: api.management })).status, 404)
})

t.test('"expires_at" of an application ends its keys (completions §4)', async (t) => {
  const expires_at = new Date(api.clock.now() + 60_000).toISOString()
  const { key } = await api.application('private', ['token:create'], [], { expires_at })
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 200)
  api.clock.advance(59_999)
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 200)
  api.clock.advance(1)
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 401)
})

t.test('"Authorization is by permission strings": each can be granted', async (t) => {
  const named =
    'token:create token:read token:delete token:use tenant:read tenant:update tenant:delete report:read log:read proxy:create proxy:read proxy:update proxy:delete reactor:create reactor:read reactor:update reactor:delete'
  const { body } = await api.call('GET', '/permissions', { key: api.management })
  const known = body.map(({ type }: { type: string }) => type)
  t.strictSame(
    named.split(' ').filter((permission) => !known.includes(permission)),
    [],
  )
  t.equal(new Set(known).size, known.length)
})
