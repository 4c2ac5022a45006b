import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const as = (key: string) => (method: string, path: string, body?: object) =>
  api.call(method, path, { key, ...(body ? { body } : {}) })
const call = as(api.management)
const ADMINISTRATOR = ['application:create', 'application:read', 'application:update', 'application:delete']

const PROXY = { name: 'p', destination_url: 'https://guard.example.com' }
const application = (response_guard?: string | null) => ({
  name: 'a',
  type: 'private',
  permissions: ['token:use'],
  ...(response_guard === undefined ? {} : { response_guard }),
})

t.test('proxies and applications return "response_guard" when it is set', async (t) => {
  for (const [path, body] of [
    ['/proxies', PROXY],
    ['/applications', application()],
  ] as const) {
    t.notOk('response_guard' in (await call('POST', path, body)).body)
    const { status, body: unknown } = await call('POST', path, { ...body, response_guard: 'on' })
    t.equal(status, 400)
    t.ok(unknown.errors.response_guard)
    const { body: created } = await call('POST', path, { ...body, response_guard: 'replace' })
    t.equal(created.response_guard, 'replace')
    const one = `${path}/${created.id}`
    t.equal((await call('GET', one)).body.response_guard, 'replace')
    t.equal((await call('PUT', one, { ...body, response_guard: 'block' })).body.response_guard, 'block')
    t.notOk('response_guard' in (await call('PUT', one, { ...body, response_guard: null })).body)
    await call('PUT', one, { ...body, response_guard: 'off' })
    t.equal((await call('GET', one)).body.response_guard, 'off')
    t.notOk('response_guard' in (await call('PUT', one, body)).body, 'a replaced record has what was sent')
  }
})

t.test('"response_guard" of a proxy is loosened by those who may update it', async (t) => {
  const { key } = await api.application('management', ['proxy:update'])
  const { body: proxy } = await call('POST', '/proxies', { ...PROXY, response_guard: 'block' })
  const patch = (body: object) => as(key)('PATCH', `/proxies/${proxy.id}`, body)
  const guard = async () => (await call('GET', `/proxies/${proxy.id}`)).body.response_guard
  t.equal((await patch({ name: 'q' })).status, 204)
  t.equal(await guard(), 'block')
  t.equal((await patch({ response_guard: 'report' })).status, 204)
  t.equal(await guard(), 'report')
  t.equal((await patch({ response_guard: null })).status, 204)
  t.equal(await guard(), undefined)
})

t.test('"response_guard" of an application is loosened by administrators', async (t) => {
  const { body: guarded } = await call('POST', '/applications', application('report'))
  const update = async (key: string, response_guard?: string | null) =>
    (await as(key)('PUT', `/applications/${guarded.id}`, application(response_guard))).status
  const { key } = await api.application('management', ['application:update'])
  const administrator = await api.application('management', ADMINISTRATOR)
  t.equal(await update(key, 'replace'), 200, 'stricter')
  t.equal(await update(key, 'replace'), 200, 'as it was')
  for (const looser of ['report', 'off', null, undefined]) t.equal(await update(key, looser), 403)
  t.equal((await call('GET', `/applications/${guarded.id}`)).body.response_guard, 'replace')
  t.equal(await update(administrator.key, 'off'), 200)
  t.equal(await update(key, undefined), 200, 'none is as strict as "off"')
})

t.test('"response_guard" of the tenant is a setting that administrators loosen', async (t) => {
  const set = (key: string, settings?: object) =>
    as(key)('PUT', '/tenants/self', { name: 'x', ...(settings && { settings }) })
  const { key } = await api.application('management', ['tenant:update'])
  t.equal((await call('GET', '/tenants/self')).body.settings.response_guard, 'off')
  t.equal((await set(key, { response_guard: 'maybe' })).status, 400)
  t.equal((await set(key, { response_guard: 'Replace' })).body.settings.response_guard, 'replace')
  t.equal((await set(key)).status, 200, 'a name is no setting')
  t.equal((await set(key, { response_guard: 'BLOCK' })).status, 200)
  for (const looser of [{ response_guard: 'Replace' }, { response_guard: 'off' }, {}])
    t.equal((await set(key, looser)).status, 403)
  const administrator = await api.application('management', ['tenant:update', ...ADMINISTRATOR])
  t.equal((await set(administrator.key, {})).body.settings.response_guard, 'off')

  t.equal((await set(key, { response_guard: 'block' })).status, 200)
  t.equal((await set(api.management, { response_guard: 'block', grants_within_own: 'false' })).status, 200)
  t.equal((await set(key, { grants_within_own: 'false' })).status, 200, 'without the rule all may')
  t.equal((await set(api.management, {})).status, 200)
})
