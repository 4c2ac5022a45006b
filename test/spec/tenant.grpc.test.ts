import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const self = (method: string, body?: object, as = key) =>
  api.call(method, '/tenants/self', { key: as, ...(body ? { body } : {}) })

t.test('"Get tenant | GET /tenants/self | … Tenant of the calling key."', async (t) => {
  const { status, body } = await self('GET')
  t.equal(status, 200)
  t.match(body, { id: /^[0-9a-f-]{36}$/, owner_id: /^[0-9a-f-]{36}$/, name: String, created_at: /\+00:00$/ })
  t.strictSame(body.settings, {
    fingerprint_tokens: 'false',
    deduplicate_tokens: 'false',
    strict_code: 'false',
    grants_within_own: 'true',
    unbound_destinations: 'deny',
    response_guard: 'off',
  })
  const { body: application } = await api.call('GET', '/applications/key', { key })
  t.equal(body.id, application.tenant_id)
})

t.test(
  '"Update tenant | PUT /tenants/self | … The updated Tenant; an error on validation failure."',
  async (t) => {
    api.clock.advance(1_000)
    const { body: before } = await self('GET')
    const { body: application } = await api.call('GET', '/applications/key', { key })
    const settings = { fingerprint_tokens: 'false', deduplicate_tokens: 'True' }
    const { status, body } = await self('PUT', { name: 'Renamed', settings, id: 'x', owner_id: 'x' })
    t.equal(status, 200)
    t.strictSame(body, {
      ...before,
      name: 'Renamed',
      settings: {
        fingerprint_tokens: 'false',
        deduplicate_tokens: 'true',
        strict_code: 'false',
        grants_within_own: 'true',
        unbound_destinations: 'deny',
        response_guard: 'off',
      },
      modified_by: application.id,
      modified_at: api.time(),
    })
    t.strictSame((await self('GET')).body, body)
    const retained = await self('PUT', { name: 'Again' })
    t.strictSame(retained.body.settings, body.settings, 'settings that are left out stay')
    t.equal((await self('PUT', { name: 'x'.repeat(200), settings: {} })).status, 200)
    const { body: logs } = await api.call('GET', `/logs?entity_type=tenant&entity_id=${before.id}`, { key })
    t.match(logs.data[0], { operation: 'update', message: 'Tenant updated' })
  },
)

t.test(
  '"fingerprint_tokens | When true, all tokens are fingerprinted"; "deduplicate_tokens | …"',
  async (t) => {
    const { key: tokens } = await api.application('private', ['token:create', 'token:update', 'token:use'])
    const create = async (data: string, more: object = {}) =>
      (await api.call('POST', '/tokens', { key: tokens, body: { data, ...more } })).body
    await self('PUT', { name: 'x', settings: {} })
    t.notOk('fingerprint' in (await create('a')))
    await self('PUT', { name: 'x', settings: { fingerprint_tokens: 'true' } })
    const first = await create('b')
    const second = await create('b')
    t.match(first.fingerprint, /^[1-9A-HJ-NP-Za-km-z]+$/)
    t.equal(first.fingerprint, second.fingerprint)
    t.not(first.id, second.id)
    await self('PUT', { name: 'x', settings: { deduplicate_tokens: 'true' } })
    const third = await create('c')
    t.equal((await create('c')).id, third.id)
    const changed = await api.call('PATCH', `/tokens/${first.id}`, { key: tokens, body: { data: 'c' } })
    t.equal(changed.body.id, third.id, '"on creation and updates"')
    const change = async (body: object) =>
      (await api.call('PATCH', `/tokens/${first.id}`, { key: tokens, body })).body
    t.match(await change({ metadata: { order: '7' } }), { id: first.id, metadata: { order: '7' } })
    t.match(await change({ data: 'b' }), { id: first.id }, 'a token that has a duplicate already')
    t.equal((await change({ deduplicate_token: true })).id, second.id, 'unless the update asks for it')
    t.equal((await change({ containers: ['/other/high/'] })).id, first.id)
    t.equal((await change({ containers: second.containers })).id, second.id)
    t.not((await create('c', { deduplicate_token: false })).id, third.id)
    await self('PUT', { name: 'x', settings: { deduplicate_tokens: 'false' } })
    t.not((await create('c')).id, third.id)
  },
)

t.test('"Delete tenant | DELETE /tenants/self": its keys and everything it owns', async (t) => {
  const other = await api.otherTenant()
  const tokens = await other.application(['token:create', 'token:read'])
  const { body: token } = await api.call('POST', '/tokens', { key: tokens, body: { id: 'mine', data: 'x' } })
  const { body: tenant } = await self('GET', undefined, other.key)
  t.equal((await api.service.store.keys.keys(tenant.id)).length, 2)
  const gone = await self('DELETE', undefined, other.key)
  t.equal(gone.status, 204)
  t.equal(gone.text, '')
  for (const dead of [other.key, tokens]) {
    t.equal((await api.call('GET', '/applications/key', { key: dead })).status, 401)
    t.equal((await api.call('GET', `/tokens/${token.id}`, { key: dead })).status, 401)
  }
  t.strictSame(await api.service.store.keys.keys(tenant.id), [], 'no key opens its data any more')
  t.equal((await self('GET')).status, 200, 'others stay')
})
