import t from 'tap'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const service = await startTestService(t, { openStore: openInThread })
const source = service.kernel.registry.ports.proxies
const hashOf = (key: string) => service.keys.mac('api-key', key)
const create = async (more: object = {}, key = service.managementKey) => {
  const body = { name: 'p', destination_url: 'https://a.test/b', ...more }
  const { status, json, text } = await service.call('POST', '/proxies', { key, body })
  if (status !== 201) throw new Error(text)
  return json as { id: string; key: string }
}

t.test('a proxy is found by the hash of its key, as the gateway uses it', async (t) => {
  const application = await service.call('POST', '/applications', {
    body: { name: 'a', type: 'private', permissions: ['token:use'] },
  })
  const plain = await create()
  t.strictSame(await source?.find(hashOf(plain.key)), {
    id: plain.id,
    tenantId: service.tenantId,
    name: 'p',
    destinationUrl: 'https://a.test/b',
    requireAuth: true,
    configuration: {},
  })
  const full = await create({
    require_auth: false,
    configuration: { a: 1 },
    application: { id: application.json.id },
    request_transform: { code: 'module.exports = () => 1' },
    response_transform: { code: 'module.exports = () => 2' },
  })
  t.strictSame(await source?.find(hashOf(full.key)), {
    id: full.id,
    tenantId: service.tenantId,
    name: 'p',
    destinationUrl: 'https://a.test/b',
    requireAuth: false,
    configuration: { a: 1 },
    applicationId: application.json.id,
    requestTransform: 'module.exports = () => 1',
    responseTransform: 'module.exports = () => 2',
  })
})

t.test('unknown and deleted keys find nothing, and the key itself is not what it is found by', async (t) => {
  const { id, key } = await create()
  t.equal(await source?.find(key), undefined)
  t.equal(await source?.find(hashOf('other')), undefined)
  await service.call('DELETE', `/proxies/${id}`)
  t.equal(await source?.find(hashOf(key)), undefined)
})

t.test('the newest proxies are listed across tenants, the last one first', async (t) => {
  const other = await service.newTenant()
  const first = await create()
  const second = await create({}, other.key)
  const newest = (await source?.newest(2)) ?? []
  t.same(
    newest.map(({ id, tenantId }) => [id, tenantId]),
    [
      [second.id, other.id],
      [first.id, service.tenantId],
    ],
  )
})

t.test('every change increments the counter of the caches', async (t) => {
  const now = () => service.store.records.changes(source?.collections ?? [])
  const seen = [await now()]
  const { id } = await create()
  seen.push(await now())
  await service.call('PATCH', `/proxies/${id}`, { body: { name: 'q' } })
  seen.push(await now())
  await service.call('DELETE', `/proxies/${id}`)
  seen.push(await now())
  t.equal(new Set(seen).size, 4)
})
