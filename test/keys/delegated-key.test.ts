import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Secret } from '../../src/common/secret.ts'
import { loadConfig } from '../../src/config.ts'
import { macOfTenant } from '../../src/kernel/services/tenants.ts'
import { delegatedKeyOf, delegationWrapper, loadDelegatedKey } from '../../src/keys/delegated-key.ts'
import { openKeys } from '../../src/keys/open.ts'
import { openDelegatedKeys } from '../../src/keys/open-delegated.ts'
import { rootKeyId } from '../../src/keys/root-key-rotation.ts'
import type { Keys } from '../../src/keys/types.ts'
import { addDelegation, listDelegations, revokeDelegation } from '../../src/maintenance/delegations.ts'
import { destroyOldKeys, rotateData } from '../../src/maintenance/rotate-data.ts'
import { rotateRoot } from '../../src/maintenance/rotate-root.ts'
import type { KeyRow } from '../../src/store/keys/types.ts'
import type { Store } from '../../src/store/store.ts'
import { openTestStore, type Test } from './kit.ts'

const HOUR = 60 * 60_000
const context = {
  tenantId: 'tenant-1',
  tokenId: 'token-1',
  type: 'card',
  version: 1,
  part: 'sealed',
} as const

/** A tenant whose row has its MAC, as those that the service creates: rotations check it. */
const validTenant = async (store: Store, keys: Keys, id: string): Promise<void> => {
  const row = { id, owner_id: 'o', name: 'n', settings: {}, created_by: null, created_at: 0 }
  const tenant = { ...row, modified_by: null, modified_at: null }
  const from = Buffer.from('placeholder')
  await store.tenants.create({ ...tenant, mac: from }, await keys.newTenantKeys(id, 0))
  await store.tenants.update(tenant, { from, to: macOfTenant(await keys.tenant(id), tenant) })
}

/** A store with two tenants, one of them with a delegation, and the commands over it. */
const world = async (t: Test) => {
  const store = await openTestStore(t)
  const clock = {
    time: 1_000,
    now(): number {
      return this.time
    },
  }
  let rootKey = new Secret(randomBytes(32))
  const reload = async () => rootKey
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true, reload })
  for (const id of ['tenant-1', 'tenant-2']) await validTenant(store, keys, id)
  const messages: string[] = []
  const vault = {
    store,
    keys,
    record: async (...[tenant, , , message]: [string, unknown, string, string]) =>
      void messages.push(`${tenant}: ${message}`),
  }
  const deps = { vault, clock, print: () => {} }
  const delegate = async (name: string, tenantId = 'tenant-1') =>
    loadDelegatedKey('env:KEY', { KEY: (await addDelegation(deps, { tenantId, name })).reveal() })
  const delegated = await delegate('shop')
  const open = () => openDelegatedKeys({ keys: store.keys, clock }, delegated)
  const rotate = async () => {
    const next = new Secret(randomBytes(32))
    await rotateRoot(
      { ...deps, load: async () => rootKey, next: async () => ({ key: next }) },
      { ...loadConfig({ SIDEVAULT_DATA_DIR: t.testdir() }), rootKeySource: new Secret('env:OLD') },
      { to: 'env:NEW', finish: false },
    )
    rootKey = next
    await rotateRoot(
      { ...deps, load: async () => next, next: async () => ({ key: next }) },
      { ...loadConfig({ SIDEVAULT_DATA_DIR: t.testdir() }), rootKeySource: new Secret('env:NEW') },
      { to: undefined, finish: true },
    )
    return rootKeyId(next)
  }
  return { store, clock, keys, deps, messages, delegate, delegated, open, rotate }
}

t.test(
  "a delegated key opens, seals and digests as the tenant's keys do, and no other tenant's",
  async (t) => {
    const { keys, open, messages } = await world(t)
    const theirs = await open()
    const [ring, own] = [await keys.tenant('tenant-1'), await theirs.tenant('tenant-1')]
    t.equal(own.open(ring.seal(Buffer.from('a'), context), context).toString(), 'a')
    t.equal(ring.open(own.seal(Buffer.from('b'), context), context).toString(), 'b')
    t.equal(own.fingerprint('card', '4242'), ring.fingerprint('card', '4242'))
    t.ok(own.verifies(ring.mac('record'), 'record'))
    t.equal(theirs.mac('api-key', 'key_1'), keys.mac('api-key', 'key_1'))
    await t.rejects(async () => theirs.tenant('tenant-2'), { code: 'tenant_not_found' })
    const makes: (() => Promise<unknown>)[] = [
      () => theirs.newTenantKeys('tenant-3', 0),
      () => theirs.newDataKey('tenant-1', 2, 0),
      () => theirs.serviceKeys('forward-ca'),
      () => theirs.delegate('tenant-1', 'more', 0),
      () => theirs.wrapServiceKey({ purpose: 'forward-ca', version: 1 }, Buffer.alloc(32), 0),
    ]
    for (const make of makes) await t.rejects(make, { code: 'forbidden' })
    t.same(messages, ['tenant-1: Keys delegated to the gateways "shop"'])
  },
)

t.test('each row of a delegation opens under its own name, tenant, purpose and version only', async (t) => {
  const { store, delegate, delegated } = await world(t)
  await delegate('other')
  await delegate('second', 'tenant-2')
  const wrapper = delegationWrapper(delegated.key.reveal())
  const all: KeyRow[] = [...(await store.keys.keys('tenant-1')), ...(await store.keys.keys('tenant-2'))]
  const opened = [...all, ...(await store.keys.keys(''))].filter((row) => wrapper.unwrap(row) !== undefined)
  t.same(
    opened.map(({ tenant_id, purpose }) => [tenant_id, purpose]),
    ['api-key', 'audit', 'data', 'mac'].map((purpose) => ['tenant-1', `delegated:shop:${purpose}`]),
  )
  for (const row of opened)
    for (const name of all)
      if (name !== row) t.equal(wrapper.unwrap({ ...name, wrapped: row.wrapped }), undefined)
})

t.test(
  "a delegation's audit key is its own: it forges no other journal, and the service verifies it",
  async (t) => {
    const { keys, open, delegate } = await world(t)
    const theirs = await open()
    const journal = 'gateway-0_shop-0123456789ab'
    t.equal(theirs.mac('audit', 'line'), keys.journalMac(journal)('line'))
    await delegate('other')
    for (const name of ['gateway-0-0123456789ab', 'admin', 'gateway-0_other-0123456789ab'])
      t.not(theirs.mac('audit', 'line'), keys.journalMac(name)('line'), name)
    t.equal(keys.journalMac('admin')('line'), keys.mac('audit', 'line'))
  },
)

t.test('a rotated data key is delegated too, and destroy-old leaves no old version', async (t) => {
  const { store, keys, clock, deps, open } = await world(t)
  const theirs = await open()
  const before = (await theirs.tenant('tenant-1')).seal(Buffer.from('old'), context)
  t.ok(await rotateData(deps, 'tenant-1'))
  const ring = await keys.tenant('tenant-1')
  const sealed = ring.seal(Buffer.from('new'), context)
  t.equal(sealed.readUInt32BE(1), 2)
  const own = await theirs.tenant('tenant-1', [sealed])
  t.equal(own.open(sealed, context).toString(), 'new')
  t.equal(own.open(before, context).toString(), 'old')
  clock.time += 2 * HOUR
  t.ok(await destroyOldKeys(deps, 'tenant-1'))
  const versions = (await store.keys.keys('tenant-1')).flatMap((row) =>
    row.purpose === 'data' || delegatedKeyOf(row)?.purpose === 'data' ? [row.version] : [],
  )
  t.same(versions, [2, 2])
  const after = await theirs.tenant('tenant-1')
  t.throws(() => after.open(before, context), { code: 'internal' })
})

t.test('a root key rotation wraps the delegation again, and it opens as before', async (t) => {
  const { store, deps, keys, open, rotate } = await world(t)
  const theirs = await open()
  const root = await rotate()
  const row = (await store.keys.keys('tenant-1')).find(({ purpose }) => purpose === 'delegation:shop')
  t.equal(row?.wrapped.toString('hex', 1, 9), root)
  t.ok(await rotateData(deps, 'tenant-1'))
  const sealed = (await keys.tenant('tenant-1')).seal(Buffer.from('new'), context)
  t.equal((await theirs.tenant('tenant-1', [sealed])).open(sealed, context).toString(), 'new')
})

t.test('a revoked delegation opens nothing, and its name is not used again', async (t) => {
  const { store, keys, deps, messages, delegate, open } = await world(t)
  const theirs = await open()
  await delegate('other')
  const copied = await theirs.tenant('tenant-1')
  t.ok(await revokeDelegation(deps, 'shop'))
  await t.rejects(async () => theirs.tenant('tenant-1'), { code: 'overloaded' })
  await t.rejects(theirs.health(), { code: 'overloaded' })
  await t.rejects(open(), { code: 'invalid', message: /revoked/ })
  t.notOk(await revokeDelegation(deps, 'shop'), 'it was revoked before')
  await t.rejects(revokeDelegation(deps, 'none'), { code: 'invalid' })
  await t.rejects(delegate('shop'), { code: 'invalid' }, 'an old key of this name would sign its journals')
  await t.rejects(delegate('Shop'), { code: 'invalid' })
  await t.rejects(delegate('third', 'tenant-9'), { code: 'tenant_not_found' })
  t.ok(await rotateData(deps, 'tenant-1'))
  const sealed = (await keys.tenant('tenant-1')).seal(Buffer.from('new'), context)
  t.throws(() => copied.open(sealed, context), { code: 'internal' }, 'copied keys open nothing of now')
  t.match(await listDelegations(deps), [
    { name: 'other', tenantId: 'tenant-1', isRevoked: false, versions: [1, 2] },
    { name: 'shop', tenantId: 'tenant-1', isRevoked: true, versions: [] },
  ])
  t.ok(messages.includes('tenant-1: Delegation to the gateways "shop" revoked'))
  const forged = { tenant_id: 'tenant-2', purpose: "delegation:x'; drop table tokens; --", version: 1 }
  await store.keys.add([{ ...forged, wrapped: Buffer.alloc(0), created_at: 0 }])
  t.equal((await listDelegations(deps)).length, 2, 'names of another program reach no SQL')
  await store.tenants.delete('tenant-1', 0)
  t.same(await listDelegations(deps), [], 'delegations end with their tenant')
})

t.test('a delegated key is read from a file or a variable, and each failure has a remedy', async (t) => {
  const { delegated } = await world(t)
  const text = `svdk1.shop.${delegated.key.reveal().toString('base64url')}.tenant-1\n`
  const file = join(t.testdir(), 'key')
  writeFileSync(file, text, { mode: 0o600 })
  t.match(await loadDelegatedKey(`file:${file}`, {}), { name: 'shop', tenantId: 'tenant-1' })
  t.match(await loadDelegatedKey('env:KEY', { KEY: text }), { key: delegated.key })
  for (const source of ['env:KEY', `file:${file}.none`])
    await t.rejects(loadDelegatedKey(source, {}), { configuration: true, message: /SIDEVAULT_DELEGATED_KEY/ })
  for (const wrong of [
    'svdk1.shop.short.tenant-1',
    text.replace('svdk1', 'svdk2'),
    randomBytes(32).toString('hex'),
  ])
    await t.rejects(loadDelegatedKey('env:KEY', { KEY: wrong }), { message: /^(?!.*svdk).*keys delegate/ })
  chmodSync(file, 0o644)
  await t.rejects(loadDelegatedKey(`file:${file}`, {}), { message: /chmod 600/ })
})
