import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: api.management, ...(body === undefined ? {} : { body }) })
const isValid = async (key: string) => (await api.call('GET', '/applications/key', { key })).status === 200

const rule = {
  description: 'Read cards',
  priority: 1,
  container: '/pci/',
  transform: 'mask',
  permissions: ['token:read'],
}
const wanted = { name: 'Checkout', type: 'private', permissions: ['token:create'], rules: [rule] }

t.test('"POST /applications … 201 with plaintext key — shown only here and on regenerate"', async (t) => {
  const { status, body } = await call('POST', '/applications', wanted)
  t.equal(status, 201)
  t.match(body, {
    ...wanted,
    id: /^[0-9a-f-]{36}$/,
    tenant_id: String,
    created_by: String,
    created_at: String,
  })
  t.match(body.key, /^key_[1-9A-HJ-NP-Za-km-z]{22,}$/)
  t.notOk('modified_at' in body || 'expires_at' in body, '"Unset optional members are left out."')

  const read = await call('GET', `/applications/${body.id}`)
  const { key, ...rest } = body
  t.equal(read.status, 200)
  t.strictSame(read.body, rest)
  const list = await call('GET', `/applications?id=${body.id}`)
  t.strictSame(list.body.data, [rest])
  const self = await api.call('GET', '/applications/key', { key })
  t.strictSame(self.body, rest, '"GET /applications/key: any valid key, the calling application"')
})

t.test('"create_key=true": without it there is no key', async (t) => {
  const { status, body } = await call('POST', '/applications', { ...wanted, create_key: false })
  t.equal(status, 201)
  t.notOk('key' in body)
  t.strictSame((await call('GET', `/applications/${body.id}/keys`)).body, [])
  const regenerated = await call('POST', `/applications/${body.id}/regenerate`)
  t.ok(await isValid(regenerated.body.key))
})

t.test('null members mean absent', async (t) => {
  const { status, body } = await call('POST', '/applications', {
    ...wanted,
    rules: null,
    create_key: null,
    expires_at: null,
  })
  t.equal(status, 201)
  t.ok(body.key)
  t.strictSame(body.rules, [])
})

t.test('"PUT /applications/{id} { name*, permissions, rules } (type cannot change)"', async (t) => {
  const { id, key } = await api.application('private', ['token:create'])
  const { status, body } = await call('PUT', `/applications/${id}`, { name: 'Renamed', rules: [rule] })
  t.equal(status, 200)
  t.match(body, { id, name: 'Renamed', type: 'private', permissions: [], rules: [rule] })
  t.notOk('key' in body)
  t.equal((await api.call('POST', '/tokenize', { key, body: 'x' })).status, 403, 'holds for the next request')
})

t.test('"DELETE /applications/{id} 204; its keys stop working at once"', async (t) => {
  const { id, key } = await api.application('private', ['token:create'])
  const second = (await call('POST', `/applications/${id}/keys`)).body.key
  t.equal((await call('DELETE', `/applications/${id}`)).status, 204)
  t.notOk(await isValid(key))
  t.notOk(await isValid(second))
})

t.test(
  '"regenerate: 200 with the new key; the old one stops at once; 422 when it has several keys"',
  async (t) => {
    const { id, key } = await api.application('private', ['token:create'])
    const { status, body } = await call('POST', `/applications/${id}/regenerate`)
    t.equal(status, 200)
    t.equal(body.id, id)
    t.notOk(await isValid(key))
    t.ok(await isValid(body.key))
    await call('POST', `/applications/${id}/keys`)
    t.equal((await call('POST', `/applications/${id}/regenerate`)).status, 422)
    t.ok(await isValid(body.key))
  },
)

t.test('"Two keys at once is how a caller rotates without downtime"', async (t) => {
  const { id, key } = await api.application('private', ['token:create'])
  const created = await call('POST', `/applications/${id}/keys`)
  t.equal(created.status, 201)
  t.match(created.body, { id: String, key: /^key_/, version: String, created_by: String, created_at: String })
  t.ok(await isValid(key))
  t.ok(await isValid(created.body.key))

  const keys = (await call('GET', `/applications/${id}/keys`)).body
  t.equal(keys.length, 2, 'bare array')
  for (const each of keys) {
    t.strictSame(Object.keys(each).sort(), ['created_at', 'created_by', 'id', 'version'], 'without key')
    t.strictSame((await call('GET', `/applications/${id}/keys/${each.id}`)).body, each)
  }
  const old = keys.find((each: { id: string }) => each.id !== created.body.id)
  t.equal((await call('DELETE', `/applications/${id}/keys/${old.id}`)).status, 204)
  t.notOk(await isValid(key))
  t.ok(await isValid(created.body.key))

  const other = await api.application('private', ['token:create'])
  t.equal((await call('GET', `/applications/${other.id}/keys/${created.body.id}`)).status, 404, 'not its key')
  t.equal((await call('DELETE', `/applications/${other.id}/keys/${created.body.id}`)).status, 404)
})

t.test('"at most 3 keys → 422"', async (t) => {
  const { id } = await api.application('private', ['token:create'])
  for (const status of [201, 201, 422])
    t.equal((await call('POST', `/applications/${id}/keys`)).status, status)
  t.equal((await call('GET', `/applications/${id}/keys`)).body.length, 3)
})

t.test('an application deleted while keys are created leaves no valid key', async (t) => {
  const { id } = await api.application('private', ['token:create'])
  const [deleted, ...created] = await Promise.all([
    call('DELETE', `/applications/${id}`),
    ...Array.from({ length: 8 }, () => call('POST', `/applications/${id}/keys`)),
  ])
  t.equal(deleted?.status, 204)
  for (const { status, body } of created) {
    t.ok([201, 404, 422].includes(status), String(status))
    if (status === 201) t.notOk(await isValid(body.key))
  }
})

t.test('"GET /applications (id, type, name)"', async (t) => {
  const ids: string[] = []
  for (const type of ['public', 'private', 'public'])
    ids.push((await api.application(type, ['token:create'])).id)
  const query = ids.map((id) => `id=${id}`).join('&')
  const publics = (await call('GET', `/applications?${query}&type=public`)).body
  t.strictSame(
    publics.data.map(({ id }: { id: string }) => id),
    [ids[2], ids[0]],
  )
})

t.test(
  '"GET /permissions?application_type= … bare array { type, description, application_types[] }"',
  async (t) => {
    const { key } = await api.application('management', ['tenant:invitation:read'])
    const { status, body } = await api.call('GET', '/permissions', { key })
    t.equal(status, 200)
    const named = (name: string) => body.find(({ type }: { type: string }) => type === name)
    t.match(named('token:read'), { description: /./, application_types: ['private'] })
    const publics = await api.call('GET', '/permissions?application_type=public', { key })
    t.strictSame(publics.body.map(({ type }: { type: string }) => type).sort(), [
      'token:create',
      'token:update',
    ])
    t.equal((await api.call('GET', '/permissions?application_type=unknown', { key })).status, 400)
  },
)

t.test(
  '"stored only as a keyed hash": the bootstrap key is a management application like any other',
  async (t) => {
    const { body } = await api.call('GET', '/applications/key', { key: api.management })
    t.match(body, { name: 'Bootstrap', type: 'management' })
    for (const needed of ['tenant:read', 'application:create', 'log:read', 'proxy:create', 'reactor:create'])
      t.ok(body.permissions.includes(needed), needed)
    t.notOk(body.permissions.some((permission: string) => permission.startsWith('token:')))
  },
)

const ADMINISTRATOR = ['application:create', 'application:read', 'application:update', 'application:delete']
const reveal = { ...rule, container: '/', transform: 'reveal' }

t.test('"grants_within_own": callers grant no more than they hold', async (t) => {
  const manager = (...permissions: string[]) => api.application('management', permissions)
  const as = async (key: string, method: string, path: string, body?: object) =>
    (await api.call(method, path, { key, ...(body ? { body } : {}) })).status
  const grant = (type: string, permissions: string[], rules: object[] = []) => ({
    name: 'x',
    type,
    permissions,
    rules,
  })
  const bootstrap = (await call('GET', '/applications/key')).body.id
  const everything = (await call('GET', `/applications/${bootstrap}`)).body.permissions

  const creator = await manager('application:create')
  t.equal(await as(creator.key, 'POST', '/applications', grant('private', [], [reveal])), 403)
  t.equal(await as(creator.key, 'POST', '/applications', grant('private', ['token:use'])), 403)
  t.equal(await as(creator.key, 'POST', '/applications', grant('management', ['log:read'])), 403)
  t.equal(await as(creator.key, 'POST', '/applications', grant('management', ['application:create'])), 201)
  const redact = { ...rule, transform: 'redact' }
  const victim = await api.application('private', ['token:read'], [redact])
  for (const { id } of [{ id: bootstrap }, victim])
    t.equal(await as(creator.key, 'POST', `/applications/${id}/keys`), 403)
  t.equal(await as(creator.key, 'POST', `/applications/${creator.id}/keys`), 201, 'their own')

  const updater = await manager('application:update')
  const put = (key: string, id: string, body: object) =>
    as(key, 'PUT', `/applications/${id}`, { name: 'x', ...body })
  t.equal(await put(updater.key, updater.id, { permissions: everything }), 403)
  t.equal(await put(updater.key, updater.id, { permissions: ['application:update', 'log:read'] }), 403)
  for (const { id } of [{ id: bootstrap }, victim])
    t.equal(await as(updater.key, 'POST', `/applications/${id}/regenerate`), 403)
  t.equal(await put(updater.key, victim.id, { rules: [reveal] }), 403)
  t.equal(
    await put(updater.key, victim.id, { permissions: ['token:read'] }),
    403,
    'a rule may have held back',
  )
  t.equal(
    await put(updater.key, victim.id, { permissions: ['token:read'], rules: [redact] }),
    200,
    'as it was',
  )
  t.equal(await put(updater.key, victim.id, { rules: [redact] }), 200, 'less')
  const log = await manager('application:read', 'log:read')
  t.equal(await put(updater.key, log.id, { permissions: ['application:read'] }), 200)
  t.equal(await put(updater.key, log.id, { permissions: ['application:read', 'log:read'] }), 403)
  t.ok(await isValid(victim.key))

  const administrator = await manager(...ADMINISTRATOR)
  t.equal(await as(administrator.key, 'POST', '/applications', grant('private', [], [reveal])), 201)
  t.equal(await as(administrator.key, 'POST', `/applications/${victim.id}/keys`), 201)
  t.equal(await as(administrator.key, 'POST', `/applications/${bootstrap}/keys`), 403)
  t.equal(
    await put(administrator.key, administrator.id, { permissions: [...ADMINISTRATOR, 'tenant:delete'] }),
    403,
  )
  const rejected = await api.call('POST', '/applications', {
    key: creator.key,
    body: grant('management', ['log:read']),
  })
  t.match(rejected.body, { status: 403, detail: /log:read/ })
  const { body: logs } = await call('GET', '/logs?entity_type=application&size=5')
  t.match(logs.data[0], { actor_id: creator.id, message: /Denied/ }, 'it is on record')
})

t.test(
  '"A caller that expires gives … to applications only that expire no later than it does."',
  async (t) => {
    const inHours = (hours: number) => new Date(api.clock.now() + hours * 3_600_000).toISOString()
    const permissions = [...ADMINISTRATOR, 'tenant:update']
    const { id, key } = await api.application('management', permissions, [], { expires_at: inHours(1) })
    const as = async (method: string, path: string, body?: object) =>
      (await api.call(method, path, { key, ...(body ? { body } : {}) })).status
    const make = (type: string, expires_at?: string) => {
      const granted = type === 'management' ? permissions : ['token:read']
      return as('POST', '/applications', { name: 'x', type, permissions: granted, expires_at })
    }
    for (const type of ['management', 'private']) {
      t.equal(await make(type), 403)
      t.equal(await make(type, inHours(2)), 403)
      t.equal(await make(type, inHours(1)), 201)
    }
    const weak = await api.application('management', ['application:read'])
    const update = { name: 'x', permissions: ['application:read', 'application:create'] }
    t.equal(await as('PUT', `/applications/${weak.id}`, update), 403)
    t.equal(
      await as('PUT', `/applications/${weak.id}`, { ...update, permissions: ['application:read'] }),
      200,
    )
    t.equal(await as('POST', `/applications/${weak.id}/keys`), 403)
    t.equal(await as('POST', `/applications/${weak.id}/regenerate`), 403)
    t.equal(await as('POST', `/applications/${id}/keys`), 201, 'its own')
    const reader = await api.application('private', ['token:use'], [], { expires_at: inHours(1) })
    t.equal(await as('PUT', `/applications/${reader.id}`, { name: 'x', permissions: ['token:read'] }), 200)
    t.equal(await as('POST', `/applications/${reader.id}/keys`), 201)
  },
)

t.test(
  '"grants_within_own": a caller attaches only applications whose grants lie within its own',
  async (t) => {
    const CODE = 'module.exports = ({ args }) => ({ raw: args })'
    const { id: application } = await api.application('private', [], [reveal])
    const acting = { application: { id: application } }
    const { key } = await api.application('management', [
      'proxy:create',
      'proxy:update',
      'reactor:create',
      'reactor:update',
      'application:create',
    ])
    const both = async (method: string, path: string, body: object) => {
      t.equal((await api.call(method, path, { key, body })).status, 403, `${method} ${path}`)
      return (await call(method, path, body)).body
    }
    const proxy = { name: 'p', destination_url: 'https://example.com' }
    const bound = await both('POST', '/proxies', { ...proxy, ...acting })
    await both('PATCH', `/proxies/${bound.id}`, { destination_url: 'https://elsewhere.example.com' })
    await both('PATCH', `/proxies/${bound.id}`, { name: 'q', require_auth: false })
    const rename = (path: string) => api.call('PATCH', path, { key, body: { name: 'renamed' } })
    t.equal((await rename(`/proxies/${bound.id}`)).status, 204, 'a name hands out nothing')
    const free = await api.call('POST', '/proxies', { key, body: proxy })
    t.equal(free.status, 201)
    await both('PATCH', `/proxies/${free.body.id}`, acting)

    const formula = (await call('POST', '/reactor-formulas', { name: 'f', type: 'private', code: CODE })).body
    const formulaBody = { name: 'f', type: 'private', code: CODE }
    const changed = () => api.call('PUT', `/reactor-formulas/${formula.id}`, { key, body: formulaBody })
    t.equal((await changed()).status, 200)
    const reactor = await both('POST', '/reactors', { name: 'r', formula: { id: formula.id }, ...acting })
    await both('PUT', `/reactors/${reactor.id}`, { name: 'r', code: CODE, ...acting })
    t.equal((await rename(`/reactors/${reactor.id}`)).status, 204)
    await call('PUT', `/reactors/${reactor.id}`, { name: 'r', formula: { id: formula.id }, ...acting })
    t.equal((await changed()).status, 403, 'it is the code of a reactor that acts')
    t.equal((await api.call('POST', '/reactors', { key, body: { name: 'r', code: CODE } })).status, 201)
  },
)

t.test('"grants_within_own": code of a proxy that intercepts is saved by administrators only', async (t) => {
  const { key } = await api.application('management', ['proxy:create', 'proxy:update'])
  const request_transform = { code: 'module.exports = ({ args }) => args' }
  const intercepting = (host: string) => ({
    name: 'p',
    destination_url: `https://${host}.within.example.com`,
    intercept: true,
  })
  const own = (method: string, path: string, body: object) => api.call(method, path, { key, body })
  t.match((await own('POST', '/proxies', { ...intercepting('a'), request_transform })).body, {
    status: 403,
    detail: /application:update/,
  })
  const plain = await own('POST', '/proxies', intercepting('a'))
  t.equal(plain.status, 201, 'it sends requests where their callers sent them')
  t.equal((await own('PATCH', `/proxies/${plain.body.id}`, { request_transform })).status, 403)
  const { body: full } = await own('POST', '/proxies', {
    ...intercepting('b'),
    intercept: false,
    request_transform,
  })
  t.equal((await own('PATCH', `/proxies/${full.id}`, { intercept: true })).status, 403)
  t.equal((await call('PATCH', `/proxies/${full.id}`, { intercept: true })).status, 204)
  t.equal((await own('PATCH', `/proxies/${full.id}`, { name: 'q' })).status, 204)
  t.equal(
    (await own('PATCH', `/proxies/${full.id}`, { request_transform: { code: 'module.exports = () => 1' } }))
      .status,
    403,
  )
  t.equal((await own('PATCH', `/proxies/${full.id}`, { request_transform: null })).status, 204)
  t.equal(
    (await call('POST', '/proxies', { ...intercepting('c'), response_transform: request_transform })).status,
    201,
  )
})

t.test(
  '"grants_within_own" is on unless set to "false", which only callers with all permissions may',
  async (t) => {
    const set = async (key: string, settings: object) =>
      (await api.call('PUT', '/tenants/self', { key, body: { name: 'x', settings } })).status
    const off = { grants_within_own: 'False' }
    for (const permissions of [['tenant:update'], ['tenant:update', ...ADMINISTRATOR]])
      t.equal(await set((await api.application('management', permissions)).key, off), 403)
    const { id } = (await call('GET', '/applications/key')).body
    const { permissions } = (await call('GET', `/applications/${id}`)).body
    const expires_at = new Date(api.clock.now() + 3_600_000).toISOString()
    t.equal(await set((await api.application('management', permissions, [], { expires_at })).key, off), 403)
    const { key: creator } = await api.application('management', ['application:create'])
    const body = { name: 'x', type: 'private', permissions: [], rules: [reveal] }
    const status = async () => (await api.call('POST', '/applications', { key: creator, body })).status
    t.equal(await status(), 403)
    t.equal(await set(api.management, off), 200)
    t.equal(await status(), 201)
    t.equal(await set(api.management, {}), 200)
    t.equal(await status(), 403, 'left out it is on')
  },
)
