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

t.test('"Every endpoint requires the header SVC-API-KEY … unless stated otherwise"', async (t) => {
  const id = '3c9a0b3e-55a1-4f0c-9f6d-0f6c5b0d9f11'
  const calls = [
    'POST /tokenize',
    'POST /detokenize',
    'POST /tokens',
    'GET /tokens',
    'GET /v2/tokens',
    'POST /tokens/search',
    'POST /v2/tokens/search',
    `GET /tokens/${id}`,
    `PATCH /tokens/${id}`,
    `DELETE /tokens/${id}`,
    'GET /tenants/self',
    'POST /applications',
    'GET /applications',
    'GET /applications/key',
    `GET /applications/${id}`,
    `PUT /applications/${id}`,
    `DELETE /applications/${id}`,
    `POST /applications/${id}/regenerate`,
    `POST /applications/${id}/keys`,
    `GET /applications/${id}/keys`,
    `GET /applications/${id}/keys/${id}`,
    `DELETE /applications/${id}/keys/${id}`,
    'GET /permissions',
  ]
  for (const call of calls) {
    const [method, path] = call.split(' ') as [string, string]
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {}
    t.equal((await api.call(method, path, body)).status, 401, call)
    const { key } = await api.powerless()
    if (!/key$|permissions$/.test(path))
      t.equal(
        (await api.call(method, path, { ...valid(call), key })).status,
        403,
        `${call} without permission`,
      )
  }
})

/** A body that is valid in form, so that it is the permission that is missing. */
const valid = (call: string): { body?: unknown } => {
  if (call.endsWith('/applications'))
    return { body: { name: 'x', type: 'public', permissions: ['token:create'] } }
  if (call.startsWith('PUT')) return { body: { name: 'x', permissions: ['token:create'] } }
  if (/^(POST|PATCH)/.test(call) && !/keys|regenerate/.test(call)) return { body: { data: 'x' } }
  return {}
}

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
