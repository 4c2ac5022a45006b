import t from 'tap'
import { isoTime } from '../../src/common/clock.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const { id: publicId, key: publicKey } = await api.application('public', ['token:create'])
const { key: privateKey } = await api.application('private', ['token:create', 'token:read', 'token:use'])

const session = async (key = publicKey) => (await api.call('POST', '/sessions', { key })).body
const authorize = (body: object, key = privateKey) => api.call('POST', '/sessions/authorize', { key, body })
const create = (key: string, body: object = { data: 'x' }) => api.call('POST', '/tokens', { key, body })
const CREATE = { permissions: ['token:create'] }

t.test('"Create session | POST /sessions | … Creates a session for a public application."', async (t) => {
  const { status, body } = await api.call('POST', '/sessions', { key: publicKey })
  t.equal(status, 201)
  t.match(body, { session_key: /^key_sess_[1-9A-HJ-NP-Za-km-z]{20,}$/, nonce: /^.{20,}$/ })
  t.equal(body.expires_at, new Date(api.clock.now() + 180_000).toISOString().replace('Z', '+00:00'))
  t.strictSame(Object.keys(body).sort(), ['expires_at', 'nonce', 'session_key'])
  const [a, b] = [await session(), await session()]
  t.not(a.session_key, b.session_key)
  t.not(a.nonce, b.nonce)
  for (const raw of ['', '{}'])
    t.equal((await api.call('POST', '/sessions/', { key: publicKey, raw })).status, 201)
  for (const key of [privateKey, api.management])
    t.equal((await api.call('POST', '/sessions', { key })).status, 403)
})

t.test('"Authorize … → 200 empty": the session has what was granted, and nothing else', async (t) => {
  const { session_key: key, nonce } = await session()
  const response = await authorize({ nonce, ...CREATE })
  t.equal(response.status, 200)
  t.equal(response.text, '')
  const token = await create(key)
  t.equal(token.status, 201)
  t.equal((await api.call('GET', `/tokens/${token.body.id}`, { key })).status, 403)
  const { body: application } = await api.call('GET', '/applications/key', { key })
  t.equal(application.id, publicId)
})

t.test('"nonce (… one-time)": "unknown or expired nonce 404, second use 409"', async (t) => {
  const { nonce } = await session()
  t.equal((await authorize({ nonce: 'unknown', ...CREATE })).status, 404)
  t.equal((await authorize({ nonce, ...CREATE })).status, 200)
  t.equal((await authorize({ nonce, ...CREATE })).status, 409)
  const late = await session()
  api.clock.advance(180_000)
  t.equal((await authorize({ nonce: late.nonce, ...CREATE })).status, 404)
  const other = await api.otherTenant()
  const theirs = await other.application(['token:create'])
  const mine = await session()
  t.equal((await authorize({ nonce: mine.nonce, ...CREATE }, theirs)).status, 404, 'of the same tenant')
  t.equal((await authorize({ nonce: mine.nonce, ...CREATE })).status, 200)
})

t.test(
  '"after expiry → 401", "Default 3 minutes after creation, or the expires_at given on authorization"',
  async (t) => {
    const short = await session()
    await authorize({ nonce: short.nonce, ...CREATE })
    const long = await session()
    const expires_at = new Date(api.clock.now() + 3_600_000).toISOString()
    await authorize({ nonce: long.nonce, ...CREATE, expires_at })
    api.clock.advance(179_999)
    t.equal((await create(short.session_key)).status, 201)
    api.clock.advance(1)
    t.equal((await create(short.session_key)).status, 401)
    t.equal((await create(long.session_key)).status, 201)
    api.clock.advance(3_600_000)
    t.equal((await create(long.session_key)).status, 401)
    t.ok(
      (await api.service.store.tenantPurge.purge(api.clock.now(), 100)) > 0,
      '"The session no longer exists."',
    )
    t.equal((await create(long.session_key)).status, 401)
  },
)

t.test('"conditions (sessions only, instead of container)", all of which must hold', async (t) => {
  const reveal = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:read', 'token:search'],
  }
  const { key: owner } = await api.application('private', [], [reveal])
  const [one, two] = [
    (await create(owner, { data: 'one', containers: ['/s/a/'] })).body.id,
    (await create(owner, { data: 'two', containers: ['/s/b/'] })).body.id,
  ]
  const seen = async (conditions: object[], permissions = ['token:read', 'token:search']) => {
    const { session_key: key, nonce } = await session()
    const rule = { description: 'c', priority: 1, conditions, transform: 'reveal', permissions }
    const response = await authorize({ nonce, rules: [rule] }, owner)
    t.equal(response.status, 200, response.text)
    const { body: found } = await api.call('POST', '/v2/tokens/search', {
      key,
      body: { query: 'type:token' },
    })
    const direct: string[] = []
    for (const id of [one, two]) {
      const { status, body } = await api.call('GET', `/tokens/${id}`, { key })
      if (status === 200) direct.push(body.data)
      else t.equal(status, 403)
    }
    const listed = found.data
      .map(({ data }: { data: string }) => data)
      .filter((data: string) => /one|two/.test(data))
    t.strictSame(listed.toReversed(), direct, 'lists show the same')
    return direct
  }
  const id = (operator: string, value: string) => ({ attribute: 'id', operator, value })
  const container = (operator: string, value: string) => ({ attribute: 'container', operator, value })
  t.strictSame(await seen([id('equals', one)]), ['one'])
  t.strictSame(await seen([id('starts_with', two.slice(0, 20))]), ['two'])
  t.strictSame(await seen([container('equals', '/S/a')]), ['one'])
  t.strictSame(await seen([container('equals', '/s/')]), [])
  t.strictSame(await seen([container('starts_with', '/s/')]), ['one', 'two'])
  t.strictSame(await seen([id('equals', one), container('equals', '/s/b/')]), [])
  t.strictSame(await seen([id('equals', one), container('starts_with', '/s/')]), ['one'])
})

t.test('"The grant must lie within what the authorizing application itself may do"', async (t) => {
  const rule = (container: string, transform: string, permissions = ['token:read'], priority = 1) => ({
    description: 'r',
    priority,
    container,
    transform,
    permissions,
  })
  const outcome = async (
    own: { permissions?: string[]; rules?: object[] },
    grant: { permissions?: string[]; rules?: object[] },
  ) => {
    const { key } = await api.application('private', own.permissions ?? [], own.rules ?? [])
    return (await authorize({ nonce: (await session()).nonce, ...grant }, key)).status
  }
  const read = { permissions: ['token:read'] }
  t.equal(await outcome(read, { permissions: ['token:read'] }), 200)
  t.equal(await outcome(read, { permissions: ['token:create'] }), 403)
  t.equal(await outcome(read, { permissions: ['token:read', 'token:use'] }), 403)
  t.equal(await outcome(read, { rules: [rule('/a/', 'mask')] }), 200)
  t.equal(await outcome(read, { rules: [rule('/a/', 'redact')] }), 200)
  t.equal(await outcome(read, { rules: [rule('/a/', 'reveal')] }), 403, 'seeing more is doing more')
  const pci = { rules: [rule('/pci/', 'reveal')] }
  t.equal(await outcome(pci, { rules: [rule('/pci/high/', 'reveal')] }), 200)
  t.equal(await outcome(pci, { rules: [rule('/', 'mask')] }), 403, 'a wider container')
  t.equal(await outcome(pci, { permissions: ['token:read'] }), 403, 'all containers')
  const hole = { ...read, rules: [rule('/pii/', 'redact')] }
  t.equal(await outcome(hole, { permissions: ['token:read'] }), 403, 'a rule of its own says less for a part')
  t.equal(await outcome(hole, { rules: [rule('/pci/', 'mask')] }), 200)
  t.equal(await outcome(hole, { rules: [rule('/pii/x/', 'mask')] }), 403)
})

t.test(
  '"A session key cannot authorize sessions (403)", nor can public and management applications',
  async (t) => {
    const { session_key: key, nonce } = await session()
    await authorize({ nonce, ...CREATE })
    const next = await session()
    for (const caller of [key, publicKey, api.management])
      t.equal((await authorize({ nonce: next.nonce, ...CREATE }, caller)).status, 403)
    t.equal((await api.call('POST', '/sessions', { key })).status, 403)
  },
)

t.test('a session ends with its application', async (t) => {
  const { id, key: mine } = await api.application('public', ['token:create'])
  const { session_key: key, nonce } = await session(mine)
  await authorize({ nonce, ...CREATE })
  t.equal((await create(key)).status, 201)
  await api.call('DELETE', `/applications/${id}`, { key: api.management })
  t.equal((await create(key)).status, 401)
})

/** An authorized session, and who is behind it. */
const authorized = async (more: object = {}) => {
  const revealing = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:read'],
  }
  const authority = await api.application('private', ['token:create'], [revealing])
  const { session_key: key, nonce } = await session()
  t.equal((await authorize({ nonce, ...CREATE, rules: [revealing], ...more }, authority.key)).status, 200)
  t.equal((await create(key)).status, 201)
  const [newest] = (await sessions('?size=1')).body.data
  return { key, id: newest.id as string, authority }
}
const manage = (method: string, path: string, body?: object) =>
  api.call(method, path, { key: api.management, ...(body ? { body } : {}) })
const sessions = (query = '') => manage('GET', `/sessions${query}`)

t.test('"A session … ends with the application, and the key, that authorized it"', async (t) => {
  const ends: Readonly<Record<string, (authority: { id: string; key: string }) => Promise<unknown>>> = {
    'deleted application': ({ id }) => manage('DELETE', `/applications/${id}`),
    'regenerated key': ({ id }) => manage('POST', `/applications/${id}/regenerate`),
    'deleted key': async ({ id }) => {
      const [first] = (await manage('GET', `/applications/${id}/keys`)).body
      await manage('POST', `/applications/${id}/keys`)
      return manage('DELETE', `/applications/${id}/keys/${first.id}`)
    },
    'grants taken away': ({ id }) =>
      manage('PUT', `/applications/${id}`, { name: 'less', permissions: ['token:create'], rules: [] }),
  }
  for (const [what, end] of Object.entries(ends)) {
    const { key, id, authority } = await authorized()
    await end(authority)
    t.equal((await create(key)).status, 401, what)
    const [item] = (await sessions()).body.data
    t.match(item, { id, state: 'ended' }, what)
  }
  const { key, authority } = await authorized()
  await manage('POST', `/applications/${authority.id}/keys`)
  await manage('PUT', `/applications/${authority.id}`, {
    name: 'renamed',
    permissions: ['token:create', 'token:search'],
    rules: (await manage('GET', `/applications/${authority.id}`)).body.rules,
  })
  t.equal((await create(key)).status, 201, 'another key, and more grants, end nothing')

  const expires_at = new Date(api.clock.now() + 60_000).toISOString()
  const brief = await api.application('private', ['token:create'], [], { expires_at })
  const { session_key, nonce } = await session()
  await authorize({ nonce, ...CREATE }, brief.key)
  api.clock.advance(60_000)
  t.equal((await create(session_key)).status, 401, 'expired application')
})

t.test('a session ends when the key that authorized it expires, cached or not', async (t) => {
  const { runKeys } = api.service.kernel.registry.ports.applications!
  const { tenantId } = api.service
  const { id: applicationId } = await api.application('private', ['token:create'])
  const run = (await runKeys.create(tenantId, applicationId))!
  const { session_key: key, nonce } = await session()
  const end = api.clock.now() + 3_600_000
  const granted = { nonce, ...CREATE, expires_at: new Date(end).toISOString() }
  t.equal((await authorize(granted, run.key.reveal())).status, 200)
  const listed = async () => {
    const [{ state, expires_at }] = (await sessions('?size=1')).body.data
    return { state, expires_at }
  }
  const expiry = () => isoTime(api.clock.now() + run.endsInMs)
  t.strictSame(await listed(), { state: 'authorized', expires_at: expiry() })
  t.equal((await create(key)).status, 201)

  api.clock.advance(run.endsInMs - 1)
  await runKeys.renew(tenantId, run.id)
  t.strictSame(await listed(), { state: 'authorized', expires_at: expiry() }, 'a renewed key')
  api.clock.advance(run.endsInMs - 1)
  t.equal((await create(key)).status, 201)
  api.clock.advance(1)
  t.ok(api.clock.now() < end)
  t.equal((await create(key)).status, 401)
  t.strictSame(await listed(), { state: 'ended', expires_at: api.time() })
})

t.test('"A session lives 24 hours at most"', async (t) => {
  const at = (hours: number) => ({
    expires_at: new Date(api.clock.now() + hours * 3_600_000 + 1).toISOString(),
  })
  const { nonce } = await session()
  for (const expires_at of [at(24).expires_at, '2099-01-01T00:00:00Z']) {
    const rejected = await authorize({ nonce, ...CREATE, expires_at })
    t.equal(rejected.status, 400)
    t.match(rejected.body.errors.expires_at, [/24 hours/])
  }
  const { key } = await authorized({ expires_at: new Date(api.clock.now() + 24 * 3_600_000).toISOString() })
  api.clock.advance(24 * 3_600_000)
  t.equal((await create(key)).status, 401)
})

t.test(
  'GET /sessions lists them by cursor, never a key; DELETE /sessions/{id} ends one at once',
  async (t) => {
    const created = []
    for (let count = 0; count < 3; count++) created.push(await authorized())
    await session()
    const [pending, newest] = (await sessions('?size=2')).body.data
    t.strictSame(Object.keys(pending).sort(), ['application_id', 'created_at', 'expires_at', 'id', 'state'])
    t.match(pending, { application_id: publicId, state: 'pending' })
    t.match(newest, {
      id: created[2]!.id,
      state: 'authorized',
      application_id: publicId,
      authorized_by: created[2]!.authority.id,
      authorized_at: String,
      created_at: String,
      expires_at: String,
    })
    const walked: string[] = []
    let start = ''
    do {
      const { body, text } = await sessions(`?size=2${start}`)
      t.notMatch(text, /key_/)
      for (const { id } of body.data) {
        walked.push(id)
        if (created.some((one) => one.id === id))
          t.equal((await manage('DELETE', `/sessions/${id}`)).status, 204, 'ended while the list is walked')
      }
      start = body.pagination.next ? `&start=${encodeURIComponent(body.pagination.next)}` : ''
    } while (start)
    t.equal(new Set(walked).size, walked.length)
    for (const { id, key } of created) {
      t.ok(walked.includes(id))
      t.equal((await create(key)).status, 401)
      t.equal((await manage('DELETE', `/sessions/${id}`)).status, 404)
    }
    const logs = await manage('GET', `/logs?entity_type=session&entity_id=${created[0]!.id}`)
    t.match(logs.body.data, [{ operation: 'delete', message: 'Session deleted' }, {}, {}])

    const { key: stranger } = await api.otherTenant()
    const { id, key } = await authorized()
    t.equal((await api.call('DELETE', `/sessions/${id}`, { key: stranger })).status, 404)
    t.strictSame((await api.call('GET', '/sessions', { key: stranger })).body.data, [])
    const { next } = (await sessions('?size=1')).body.pagination
    const path = `/sessions?start=${encodeURIComponent(next)}`
    t.equal((await api.call('GET', path, { key: stranger })).status, 400, 'a cursor is for its tenant')
    t.equal((await create(key)).status, 201)
  },
)

t.test('sessions and their authorization are in the logs', async (t) => {
  const { nonce } = await session()
  await authorize({ nonce, ...CREATE })
  const { body } = await api.call('GET', '/logs?entity_type=session&size=2', { key: api.management })
  t.match(body.data, [
    { operation: 'authorize', message: 'Session authorized' },
    { operation: 'create', message: 'Session created' },
  ])
  t.equal(body.data[0].entity_id, body.data[1].entity_id)
  t.notMatch(JSON.stringify(body), nonce)
})
