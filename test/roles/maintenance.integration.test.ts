import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../src/common/log.ts'
import { unixHttp } from '../../src/common/unix-http.ts'
import { startMaintenanceServer } from '../../src/roles/maintenance.ts'
import { startTestService } from '../kit/service.ts'

const setUp = async (t: Test) => {
  const service = await startTestService(t)
  const { store, keys, journal, clock, kernel } = service
  const socket = join(service.directory, 'operator.sock')
  const log = createLog('test', 'silent')
  const { credentials, applications } = kernel.registry.ports
  const operator = await startMaintenanceServer(
    { store, keys, credentials, applications, journal, clock, log },
    socket,
  )
  t.teardown(() => operator.close())
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
    const response = await unixHttp(socket, method, path, body ? { body } : {})
    return { status: response.status, json: response.body === '' ? undefined : JSON.parse(response.body) }
  }
  return { service, socket, call }
}

t.test('a tenant is created with a valid key, and only its hash is stored', async (t) => {
  const { service, socket, call } = await setUp(t)
  t.equal(statSync(socket).mode & 0o777, 0o600)
  const { status, json } = await call('POST', '/tenants', { name: 'Second' })
  t.equal(status, 201)
  t.match(json, { id: /^[0-9a-f-]{36}$/, name: 'Second', key: /^key_/ })
  const self = await service.call('GET', '/tenants/self', { key: json.key })
  t.match(self.json, { id: json.id, name: 'Second' })
  const tokens = await service.application({ permissions: ['token:create'] }, 'private', json.key)
  t.equal((await service.call('POST', '/tokens', { key: tokens, body: { data: 'x' } })).status, 201)
  const logs = await service.call('GET', '/logs?entity_type=tenant', { key: json.key })
  t.match(logs.json.data, [{ operation: 'create', actor_type: 'operator', entity_id: json.id }])
  const list = await call('GET', '/tenants')
  t.equal(list.json.length, 2)
  const names = new Map(list.json.map((tenant: { id: string; name: string }) => [tenant.id, tenant.name]))
  t.equal(names.get(service.tenantId), 'First')
  t.equal(names.get(json.id), 'Second')
  t.notMatch(JSON.stringify(list.json), /key_/)
})

t.test('a deleted tenant is removed with its keys; the others stay', async (t) => {
  const { service, call } = await setUp(t)
  const { json: created } = await call('POST', '/tenants', { name: 'Second' })
  t.equal((await call('DELETE', `/tenants/${created.id}`)).status, 204)
  t.equal((await call('DELETE', `/tenants/${created.id}`)).status, 404)
  t.equal((await service.call('GET', '/tenants/self', { key: created.key })).status, 401)
  t.strictSame(await service.store.keys.keys(created.id), [])
  t.equal((await call('GET', '/tenants')).json.length, 1)
  t.equal((await service.call('GET', '/tenants/self')).status, 200)
})

t.test('a new management key has all management permissions, and only its hash is stored', async (t) => {
  const { service, call } = await setUp(t)
  const { json: tenant } = await call('POST', '/tenants', { name: 'Second' })
  const { status, json } = await call('POST', `/tenants/${tenant.id}/management-keys`)
  t.equal(status, 201)
  t.match(json, { tenant_id: tenant.id, application_id: /^[0-9a-f-]{36}$/, key: /^key_/ })
  t.not(json.key, tenant.key)
  const { data } = (await service.call('GET', '/applications', { key: json.key })).json
  t.equal(data.length, 2)
  const [created, first] = [
    data.find(({ id }: { id: string }) => id === json.application_id),
    data.find(({ id }: { id: string }) => id !== json.application_id),
  ]
  t.equal(created.type, 'management')
  t.strictSame(created.permissions, first.permissions)
  t.equal((await service.call('GET', '/tenants/self', { key: tenant.key })).status, 200, 'others stay')
  const logs = await service.call('GET', '/logs?entity_type=application', { key: json.key })
  t.match(logs.json.data, [
    { operation: 'create', actor_type: 'operator', actor_id: null, entity_id: json.application_id },
  ])
  t.notMatch(JSON.stringify(logs.json), json.key)

  const unknown = await call('POST', '/tenants/00000000-0000-4000-8000-000000000000/management-keys')
  t.match(unknown, { status: 404, json: { code: 'tenant_not_found' } })
  t.equal((await service.call('GET', '/applications')).json.data.length, 1, 'of this tenant alone')
})

t.test('invalid names and unknown routes are rejected', async (t) => {
  const { call } = await setUp(t)
  for (const body of [{}, { name: '' }, { name: ' ' }, { name: 5 }, { name: 'x'.repeat(201) }])
    t.equal((await call('POST', '/tenants', body)).status, 400)
  t.equal((await call('POST', '/tenants')).status, 400)
  t.equal((await call('GET', '/logs')).status, 404)
  t.equal((await call('DELETE', '/tenants/self')).status, 404)
  t.equal((await call('GET', '/tenants')).json.length, 1)
})
