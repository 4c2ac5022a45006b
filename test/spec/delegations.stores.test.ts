import t from 'tap'
import { addDelegation, revokeDelegation } from '../../src/maintenance/delegations.ts'
import { rotateData } from '../../src/maintenance/rotate-data.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const { store, keys, tenantId } = api.service
const deps = { vault: { store, keys, record: async () => {} }, clock: api.clock, print: () => {} }

const delegations = (key = api.management) => api.call('GET', '/tenants/self/delegations', { key })

const active = (name: string, created_at: string, data_key_versions: readonly number[]) => ({
  name,
  status: 'active',
  created_at,
  data_key_versions,
})

t.test("lists the caller's own tenant's delegations by name, and nothing of their keys", async (t) => {
  const other = await api.service.newTenant('Other')
  t.strictSame((await delegations()).body, { data: [] })
  const at = api.time()
  const secrets = [
    await addDelegation(deps, { tenantId, name: 'shop' }),
    await addDelegation(deps, { tenantId: other.id, name: 'other' }),
  ]
  t.strictSame((await delegations()).body, { data: [active('shop', at, [1])] })
  t.strictSame((await delegations(other.key)).body, { data: [active('other', at, [1])] })

  api.clock.advance(1_000)
  await addDelegation(deps, { tenantId, name: 'back-office' })
  await rotateData(deps, tenantId)
  const listed = await delegations()
  t.strictSame(listed.body, {
    data: [active('back-office', api.time(), [1, 2]), active('shop', at, [1, 2])],
  })
  const wrapped = (await store.keys.keys(tenantId)).map((row) => row.wrapped)
  for (const secret of [...secrets.map((text) => text.reveal()), ...wrapped.map((w) => w.toString('base64'))])
    t.notOk(listed.text.includes(secret))

  api.clock.advance(1_000)
  await revokeDelegation(deps, 'shop')
  t.match((await delegations()).body.data, [
    { name: 'back-office', status: 'active' },
    { name: 'shop', status: 'revoked' },
  ])
  t.strictSame((await delegations()).body.data[1], {
    name: 'shop',
    status: 'revoked',
    revoked_at: api.time(),
    data_key_versions: [],
  })
  t.strictSame((await delegations(other.key)).body, { data: [active('other', at, [1])] })
})

t.test('a revocation that was interrupted is listed as active, since the key still opens', async (t) => {
  const [row] = (await store.keys.keys(tenantId)).filter(({ purpose }) => purpose.startsWith('revoked:'))
  await store.keys.add([{ ...row!, purpose: 'revoked:back-office' }])
  t.match((await delegations()).body.data, [
    { name: 'back-office', status: 'active' },
    { name: 'shop', status: 'revoked' },
  ])
  t.ok(await revokeDelegation(deps, 'back-office'), 'the command completes it')
  t.match((await delegations()).body.data, [{ status: 'revoked' }, { status: 'revoked' }])
})

t.test('GET /tenants/self/delegations is 403 without tenant:read, and 401 without a key', async (t) => {
  for (const { key } of [
    await api.application('management', ['tenant:update', 'report:read', 'log:read']),
    await api.application('private', ['token:read', 'token:use']),
  ])
    t.equal((await delegations(key)).status, 403)
  t.equal((await api.call('GET', '/tenants/self/delegations')).status, 401)
  const { key } = await api.application('management', ['tenant:read'])
  t.equal((await delegations(key)).status, 200)
})
