import type { Test } from 'tap'
import type { KeyRow } from '../../src/store/keys/types.ts'
import type { TenantRow } from '../../src/store/tenants/types.ts'
import { aLog, aToken, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const tenant: TenantRow = {
  id: 'tenant-a',
  owner_id: 'owner',
  name: 'Tenant A',
  settings: { deduplicate_tokens: 'true' },
  created_by: null,
  created_at: NOW,
  modified_by: null,
  modified_at: null,
}

const key = (changes: Partial<KeyRow> = {}): KeyRow => ({
  tenant_id: 'tenant-a',
  purpose: 'data',
  version: 1,
  wrapped: Buffer.from('wrapped'),
  created_at: NOW,
  ...changes,
})

export const storeRest = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('a tenant and its keys are created together or not at all', async (t) => {
    const { tenants, keys } = await open(t)
    t.equal(await tenants.get('tenant-a'), undefined)
    t.strictSame(await tenants.list(), [])
    await tenants.create(tenant, [key(), key({ purpose: 'index' })])
    t.strictSame(await tenants.get('tenant-a'), { ...tenant, mac: null })
    t.strictSame(await keys.keys('tenant-a'), [key(), key({ purpose: 'index' })])
    t.ok(Buffer.isBuffer((await keys.keys('tenant-a'))[0]?.wrapped))
    await t.rejects(tenants.create(tenant, [key({ version: 2 })]), { code: 'conflict' })
    t.equal((await keys.keys('tenant-a')).length, 2)
    await keys.add([key({ tenant_id: 'tenant-b' })])
    await t.rejects(tenants.create({ ...tenant, id: 'tenant-b' }, [key({ tenant_id: 'tenant-b' })]), {
      code: 'conflict',
    })
    t.strictSame(await tenants.list(), [tenant], 'no tenant without its keys')
  })

  await t.test('a tenant is marked before its first egress_only token is stored, and stays so', async (t) => {
    const { tenants, tokens } = await open(t)
    for (const id of ['tenant-a', 'tenant-b'])
      await tenants.create({ ...tenant, id }, [key({ tenant_id: id })])
    const marked = () => Promise.all(['tenant-a', 'tenant-b'].map((id) => tenants.hasEgressOnly(id)))
    const egress = { egress_only: true } as const
    await tokens.create([aToken({ id: 'x' })], NOW)
    t.strictSame(await marked(), [false, false])
    const before = await tenants.changes()
    await t.rejects(tokens.create([aToken({ id: 'x', egress })], NOW), { code: 'conflict' })
    t.strictSame(await marked(), [true, false], 'the mark has a commit of its own')
    t.not(await tenants.changes(), before, 'gateways read it')
    const known = await tenants.changes()
    await tokens.create([aToken({ id: 'y', egress })], NOW)
    t.equal(await tenants.changes(), known, 'only the first token changes the tenant')
    await tokens.delete('tenant-a', 'y', NOW)
    t.strictSame(await marked(), [true, false])
  })

  await t.test('of several processes that add the same key, one succeeds', async (t) => {
    const { keys } = await open(t)
    const add = (wrapped: string) => keys.add([key({ tenant_id: '', wrapped: Buffer.from(wrapped) })])
    const responses = await Promise.all(['a', 'b', 'c', 'd'].map(add))
    t.strictSame(responses.toSorted(), [false, false, false, true])
    const rows = await keys.keys('')
    t.equal(rows.length, 1)
    t.equal(rows[0]?.wrapped.toString(), 'abcd'[responses.indexOf(true)])
    const mixed = [key({ tenant_id: '', purpose: 'fresh' }), key({ tenant_id: '' })]
    t.equal(await keys.add(mixed), false)
    t.equal((await keys.keys('')).length, 1, 'all of a list or none of it')
    t.strictSame(await keys.keys('tenant-a'), [])
  })

  await t.test('logs are ingested once, in order, with the position of their journal', async (t) => {
    const { logs } = await open(t)
    t.equal(await logs.position('admin'), undefined)
    await logs.ingest([])
    await logs.ingest([aLog(0), aLog(1), aLog(2, { entity_id: 'token-2' })])
    t.strictSame(await logs.position('admin'), { seq: 2, hash: 'hash-2' })
    await logs.ingest([aLog(1, { message: 'again' }), aLog(2), aLog(3, { tenant_id: 'tenant-b' })])
    await logs.ingest([aLog(0, { journal: 'gateway' })])
    t.strictSame(await logs.position('admin'), { seq: 3, hash: 'hash-3' })
    await logs.ingest([aLog(1)])
    t.strictSame(await logs.position('admin'), { seq: 3, hash: 'hash-3' }, 'never backwards')
    t.strictSame(await logs.find('tenant-a'), [
      aLog(0),
      aLog(1),
      aLog(2, { entity_id: 'token-2' }),
      aLog(0, { journal: 'gateway' }),
    ])
    t.strictSame(await logs.find('tenant-a', 'token-2'), [aLog(2, { entity_id: 'token-2' })])
    t.strictSame(await logs.find('tenant-c'), [])
  })

  await t.test('a store is healthy until it is closed, and closing waits for accepted writes', async (t) => {
    const store = await open(t)
    await store.health()
    const write = store.tenants.create(tenant, [key()])
    await Promise.all([store.close(), store.close()])
    await write
    await t.rejects(store.health())
    await t.rejects(store.tenants.create({ ...tenant, id: 'late' }, []), { code: 'overloaded' })
  })
}
