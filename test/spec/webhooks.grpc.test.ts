import t from 'tap'
import { LITERALS, MALFORMED } from '../kit/forbidden-addresses.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const send = (method: string, path: string, body?: object, as = key) =>
  api.call(method, path, { key: as, ...(body ? { body } : {}) })
const input = {
  name: 'Ledger',
  url: 'https://hooks.invalid/in?of=sidevault',
  events: ['token.created', 'webhook.disabled'],
}
const create = (more: object = {}) => send('POST', '/webhooks', { ...input, ...more })
const created = async (more: object = {}) => {
  const response = await create(more)
  if (response.status !== 201) throw new Error(response.text)
  return response.body
}
const remove = async (id: string) => {
  if ((await send('DELETE', `/webhooks/${id}`)).status !== 204) throw new Error(`${id} was not deleted`)
}
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

t.test('"`secret` is in the responses to create and rotate only"', async (t) => {
  const { secret, ...webhook } = await created()
  t.match(secret, SECRET)
  t.match(webhook, { ...input, status: 'enabled', include_metadata: false, created_at: api.time() })
  t.strictSame((await send('GET', `/webhooks/${webhook.id}`)).body, webhook)
  t.strictSame((await send('GET', '/webhooks')).body.data, [webhook])
  t.notOk('secret' in (await send('PUT', `/webhooks/${webhook.id}`, input)).body)
  const rotated = await send('POST', `/webhooks/${webhook.id}/rotate-secret`)
  t.equal(rotated.status, 200)
  t.match(rotated.body.secret, SECRET)
  t.not(rotated.body.secret, secret)
  await remove(webhook.id)
})

t.test('"PUT replaces a webhook"; without a status it stays as it is', async (t) => {
  const { id } = await created({ status: 'disabled', include_metadata: true })
  const { body } = await send('PUT', `/webhooks/${id}`, { ...input, events: ['proxy.invoked'] })
  t.match(body, { events: ['proxy.invoked'], status: 'disabled', include_metadata: false })
  t.match((await send('PUT', `/webhooks/${id}`, { ...input, status: 'enabled' })).body, { status: 'enabled' })
  await remove(id)
})

t.test('"the sixth webhook 422"', async (t) => {
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.push((await created()).id)
  const { status, body } = await create()
  t.equal(status, 422)
  t.equal(body.code, 'unprocessable')
  await remove(ids.pop() ?? '')
  ids.push((await created()).id)
  const other = await api.otherTenant()
  t.equal((await send('POST', '/webhooks', input, other.key)).status, 201, 'another tenant has its own')
  for (const id of ids) await remove(id)
})

t.test('"http, private or credential-bearing URL 400"', async (t) => {
  const urls = [
    'http://hooks.example.com/',
    'https://user:word@hooks.example.com/',
    'https://hooks.example.com:8443/',
    ...LITERALS.map((host) => `https://${host}/`),
    ...MALFORMED,
  ]
  for (const url of urls) {
    const { status, body } = await create({ url })
    t.equal(status, 400, url)
    t.ok(body.errors?.url, url)
  }
})

t.test('"unknown event type 400 naming the nearest"', async (t) => {
  const { status, body } = await create({ events: ['token.created', 'proxy.invoke', 'Sent, a secret'] })
  t.equal(status, 400)
  t.match(
    body.errors['events[1]'][0],
    /"proxy\.invoke" is not an event type; the nearest is "proxy\.invoked"/,
  )
  t.notMatch(body.errors['events[2]'][0], 'secret', 'other text is not repeated')
})

t.test('"Types are <entity>.<past participle> of what the audit log records"', async (t) => {
  const { body } = await send('GET', '/webhooks/event-types')
  const values = body.map(({ value }: { value: string }) => value)
  t.strictSame(values, values.toSorted())
  t.strictSame(values, [...new Set(values)])
  for (const type of [
    ...['token.created', 'token.used', 'token.guarded', 'token.association_created', 'token.denied'],
    ...['proxy.invoked', 'proxy.completed', 'proxy.updated', 'reactor.invoked', 'reactor.formula_created'],
    ...['application.key_created', 'session.authorized', 'console_session.created', 'webhook.disabled'],
  ])
    t.ok(values.includes(type), type)
  t.notOk(
    values.some((value: string) => value.startsWith('card.')),
    'tokens of all types are tokens',
  )
  const all = await create({ events: values })
  t.equal(all.status, 201, all.text)
  await remove(all.body.id)
})

t.test('"include_metadata" needs an administrator', async (t) => {
  const { key: limited } = await api.application('management', ['webhook:create', 'webhook:update'])
  const { status, body } = await send('POST', '/webhooks', { ...input, include_metadata: true }, limited)
  t.equal(status, 403)
  t.equal(body.code, 'forbidden')
  const { id } = await created({ include_metadata: true })
  const changed = await send('PUT', `/webhooks/${id}`, { ...input, include_metadata: true }, limited)
  t.equal(changed.status, 200, 'it may stay')
  await remove(id)
})

t.test('"ping" sends one event, "redeliver" sends it again, and both say what became of it', async (t) => {
  const { id } = await created()
  const { status, body } = await api.call('POST', `/webhooks/${id}/ping`, { key, once: true })
  t.equal(status, 200)
  t.match(body, {
    webhook_id: id,
    event_type: 'webhook.pinged',
    status: 'failed',
    attempts: 1,
    last_attempt: { at: api.time(), error: 'destination_unreachable' },
  })
  const path = `/webhooks/${id}/deliveries`
  t.strictSame((await send('GET', path)).body, { pagination: { page_size: 20 }, data: [body] })
  const again = await api.call('POST', `${path}/${body.id}/redeliver`, { key, once: true })
  t.equal(again.status, 200)
  t.match(again.body, { ...body, attempts: 2 })
  const missing = await send('POST', `${path}/${id}/redeliver`)
  t.equal(missing.body.code, 'delivery_not_found')
  const other = await created()
  const elsewhere = await send('POST', `/webhooks/${other.id}/deliveries/${body.id}/redeliver`)
  t.equal(elsewhere.body.code, 'delivery_not_found', 'of another webhook')
  await remove(id)
  t.equal((await send('GET', path)).status, 404)
  await remove(other.id)
})
