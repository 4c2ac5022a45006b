import t from 'tap'
import { newKey } from '#kit'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const service = await startTestService(t, { openStore: openInThread })
const credentials = service.kernel.registry.ports.credentials!
const hashOf = (key: string) => service.keys.mac('api-key', key)
const applications = async () => (await service.call('GET', '/applications')).json.pagination.total_items

t.test('installing the same bootstrap key again, also concurrently, changes nothing', async (t) => {
  const hash = hashOf(service.managementKey)
  const before = await applications()
  await credentials.install(service.tenantId, hash)
  t.equal(await applications(), before)
  const fresh = hashOf(newKey())
  await Promise.all(Array.from({ length: 8 }, () => credentials.install(service.tenantId, fresh)))
  t.equal(await applications(), before + 1)
})

t.test('a bootstrap key of one tenant cannot become that of another', async (t) => {
  const other = await service.newTenant('Other')
  await t.rejects(credentials.install(other.id, hashOf(service.managementKey)), { code: 'conflict' })
})

t.test('an unknown hash belongs to no caller', async (t) => {
  t.equal(await credentials.authenticate(hashOf(newKey())), undefined)
  t.equal(await credentials.authenticate(''), undefined)
})

t.test('a change of permissions applies to the next request, in every direction', async (t) => {
  const key = await service.application({ permissions: ['token:create'] })
  const { id } = (await service.call('GET', '/applications/key', { key })).json
  for (const [permission, status] of [
    ['token:read', 403],
    ['token:create', 200],
    ['token:delete', 403],
  ] as const) {
    const body = { name: 'changed', permissions: [permission] }
    t.equal((await service.call('PUT', `/applications/${id}`, { body })).status, 200)
    t.equal((await service.call('POST', '/tokenize', { key, body: ['x'] })).status, status, permission)
  }
})
