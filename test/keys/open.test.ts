import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { Secret } from '../../src/common/secret.ts'
import { openKeys } from '../../src/keys/open.ts'
import { createWrapper } from '../../src/keys/wrap.ts'
import type { KeyRow, KeyStore } from '../../src/store/keys/types.ts'
import { problemOf } from '../kit/problem.ts'
import { addTenant, openTestStore } from './kit.ts'

const context = { tokenId: 'token-1', type: 'card', version: 1, part: 'sealed' } as const
const clockAt = (now: number) => ({
  time: now,
  now(): number {
    return this.time
  },
})
const newRoot = () => new Secret(randomBytes(32))

/** A store that counts its reads and can return other rows. */
const watched = (inner: Pick<KeyStore, 'keys' | 'changes' | 'add'>) => {
  const state = {
    reads: 0,
    rows: (rows: readonly KeyRow[]): readonly KeyRow[] => rows,
    /** Awaited by a read once it has its rows. */
    after: async (_tenantId: string): Promise<void> => {},
  }
  const store: typeof inner = {
    keys: async (tenantId) => {
      state.reads++
      const rows = state.rows(await inner.keys(tenantId))
      await state.after(tenantId)
      return rows
    },
    changes: () => inner.changes(),
    add: (rows) => inner.add(rows),
  }
  return Object.assign(state, { store })
}

t.test("a tenant's keys seal, open and digest identically after a restart", async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const clock = clockAt(1000)
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 1000))
  const ring = await keys.tenant('tenant-1')
  const sealed = ring.seal(Buffer.from('secret'), { tenantId: 'tenant-1', ...context })

  const again = await openKeys({ keys: store.keys, clock }, { rootKey, create: false })
  const ringAgain = await again.tenant('tenant-1')
  t.equal(ringAgain.open(sealed, { tenantId: 'tenant-1', ...context }).toString(), 'secret')
  t.equal(ringAgain.fingerprint('card', '4242'), ring.fingerprint('card', '4242'))
  t.same(ringAgain.term('4242'), ring.term('4242'))
  t.equal(again.mac('api-key', 'key_1'), keys.mac('api-key', 'key_1'))
  t.equal(again.mac('audit', Buffer.from('line')), keys.mac('audit', 'line'))
})

t.test('digests differ by tenant, type and purpose, and have documented formats', async (t) => {
  const store = await openTestStore(t)
  const keys = await openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey: newRoot(), create: true })
  for (const id of ['tenant-1', 'tenant-2']) await addTenant(store, id, await keys.newTenantKeys(id, 0))
  const [first, second] = [await keys.tenant('tenant-1'), await keys.tenant('tenant-2')]
  const prints = [
    first.fingerprint('card', '4242'),
    first.fingerprint('bank', '4242'),
    second.fingerprint('card', '4242'),
    first.fingerprint('card4', '242'),
  ]
  t.equal(new Set(prints).size, prints.length)
  for (const print of prints) t.match(print, /^[1-9A-HJ-NP-Za-km-z]{40,44}$/)
  t.equal(first.term('4242').length, 16)
  t.notSame(first.term('4242'), second.term('4242'))
  t.notSame(first.term('4242'), first.term('4243'))
  t.match(keys.mac('audit', 'x'), /^[0-9a-f]{64}$/)
  t.not(keys.mac('audit', 'x'), keys.mac('api-key', 'x'))
  const sealed = first.seal(Buffer.from('secret'), { tenantId: 'tenant-1', ...context })
  t.throws(() => second.open(sealed, { tenantId: 'tenant-1', ...context }), { code: 'internal' })
})

t.test('a wrong root key is rejected, whatever `create` is, and nothing changes', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  await openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey, create: true })
  const before = await store.keys.keys('')
  for (const create of [true, false]) {
    const problem = await problemOf(
      openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey: newRoot(), create }),
    )
    t.match(problem, /^invalid: The root key does not match the store/)
  }
  t.same(await store.keys.keys(''), before)
  await openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey, create: false })
})

t.test('health fails once the stored keys are under a root key that the process does not know', async (t) => {
  const inner = await openTestStore(t)
  const { store } = watched(inner.keys)
  const rootKey = newRoot()
  const keys = await openKeys({ keys: store, clock: clockAt(0) }, { rootKey, create: true })
  await keys.health()
  const wrapper = createWrapper(newRoot().reveal())
  const rewrapped = (await inner.keys.keys('')).map((row) => wrapper.fresh(row, 0))
  store.keys = async () => rewrapped
  t.match(await problemOf(keys.health()), /"check" cannot be unwrapped/)
})

t.test('an empty store is rejected where keys may not be created', async (t) => {
  const store = await openTestStore(t)
  const deps = { keys: store.keys, clock: clockAt(0) }
  t.match(
    await problemOf(openKeys(deps, { rootKey: newRoot(), create: false })),
    /^gateway_timeout: .*no keys yet/,
  )
  t.same(await store.keys.keys(''), [])
})

t.test('concurrent starts on an empty store end with the same keys', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const all = await Promise.all(
    Array.from({ length: 8 }, () =>
      openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey, create: true }),
    ),
  )
  t.equal(new Set(all.map((keys) => keys.mac('api-key', 'key_1'))).size, 1)
  t.equal((await store.keys.keys('')).length, 3)
})

t.test('keys are read again in time, also when the clock moves backwards', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const clock = clockAt(3_600_000)
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 0))
  const ring = await keys.tenant('tenant-1')
  t.equal(await keys.tenant('tenant-1'), ring)
  clock.time = 0
  const fresh = await keys.tenant('tenant-1')
  t.not(fresh, ring)
  t.equal(await keys.tenant('tenant-1'), fresh)
})

t.test('altered, missing and swapped key rows do not open', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const clock = clockAt(0)
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true })
  for (const id of ['tenant-1', 'tenant-2']) await addTenant(store, id, await keys.newTenantKeys(id, 0))
  const other = await store.keys.keys('tenant-2')
  const wrappedOf = (rows: readonly KeyRow[], purpose: string) =>
    rows.find((row) => row.purpose === purpose)!.wrapped
  const replace = (rows: readonly KeyRow[], purpose: string, wrapped: Buffer) =>
    rows.map((row) => (row.purpose === purpose ? { ...row, wrapped } : row))
  const flip = (bytes: Buffer, at: number) => {
    const copy = Buffer.from(bytes)
    copy[at]! ^= 1
    return copy
  }

  const tampering: Readonly<Record<string, (rows: readonly KeyRow[]) => readonly KeyRow[]>> = {
    "another tenant's key": (rows) => replace(rows, 'data', wrappedOf(other, 'data')),
    "another purpose's key": (rows) => replace(rows, 'data', wrappedOf(rows, 'mac')),
    'another version': (rows) => rows.map((row) => ({ ...row, version: 2 })),
    'no data key': (rows) => rows.filter((row) => row.purpose !== 'data'),
    'no mac key': (rows) => rows.filter((row) => row.purpose !== 'mac'),
    'cut short': (rows) => replace(rows, 'mac', wrappedOf(rows, 'mac').subarray(0, -1)),
  }
  for (const [name, tamper] of Object.entries(tampering)) {
    const view = watched(store.keys)
    const reopened = await openKeys({ keys: view.store, clock }, { rootKey, create: false })
    view.rows = (rows) => (rows[0]?.tenant_id === '' ? rows : tamper(rows))
    t.match(
      await problemOf((async () => reopened.tenant('tenant-1'))()),
      /^internal: The keys of tenant "tenant-1" cannot be unwrapped/,
      name,
    )
  }
  const row = (await store.keys.keys('tenant-1'))[0]!
  const wrapper = createWrapper(rootKey.reveal())
  t.equal(wrapper.unwrap(row)?.length, 32)
  for (let at = 0; at < row.wrapped.length; at++)
    if (wrapper.unwrap({ ...row, wrapped: flip(row.wrapped, at) }) !== undefined) t.fail(`byte ${at}`)

  for (const [purpose, at, message] of [
    ['audit', 30, /key "audit" was modified/],
    ['audit', 3, /key "audit" was modified/],
    ['check', 30, /key "check" was modified/],
    ['check', 3, /root key does not match the store/],
  ] as const) {
    const view = watched(store.keys)
    view.rows = (rows) => replace(rows, purpose, flip(wrappedOf(rows, purpose), at))
    t.match(await problemOf(openKeys({ keys: view.store, clock }, { rootKey, create: true })), message)
    view.rows = (rows) => rows.filter((candidate) => candidate.purpose !== purpose)
    t.match(
      await problemOf(openKeys({ keys: view.store, clock }, { rootKey, create: true })),
      new RegExp(`service's key "${purpose}" is missing`),
    )
  }
})

t.test("unknown tenants are not found, the service's own id included", async (t) => {
  const store = await openTestStore(t)
  const keys = await openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey: newRoot(), create: true })
  t.match(await problemOf((async () => keys.tenant('tenant-9'))()), /^tenant_not_found: .*"tenant-9"/)
  t.match(await problemOf((async () => keys.tenant(''))()), /^tenant_not_found/)
})

t.test('concurrent loads share a read, later ones read again only when the keyring is old', async (t) => {
  const store = await openTestStore(t)
  const view = watched(store.keys)
  const clock = clockAt(0)
  const keys = await openKeys({ keys: view.store, clock }, { rootKey: newRoot(), create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 0))
  view.reads = 0
  const rings = await Promise.all(Array.from({ length: 50 }, () => keys.tenant('tenant-1')))
  t.equal(new Set(rings).size, 1)
  t.equal(view.reads, 1)
  clock.time = 59_999
  await keys.tenant('tenant-1')
  t.equal(view.reads, 1)
  clock.time = 60_000
  await keys.tenant('tenant-1')
  t.equal(view.reads, 2)
  view.rows = () => []
  clock.time = 120_000
  t.match(
    await problemOf((async () => keys.tenant('tenant-1'))()),
    /^tenant_not_found/,
    'destroyed keys are forgotten',
  )
})

t.test('keys destroyed by one process are dropped by the others at their next call', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const deps = { keys: store.keys, clock: clockAt(0) }
  const view = watched(store.keys)
  const here = await openKeys({ ...deps, keys: view.store }, { rootKey, create: true })
  for (const id of ['tenant-1', 'tenant-2']) await addTenant(store, id, await here.newTenantKeys(id, 0))
  for (const id of ['tenant-1', 'tenant-2']) await here.tenant(id)
  await store.tenants.delete('tenant-1', 0)
  view.reads = 0
  await here.tenant('tenant-2')
  t.equal(view.reads, 1, "another tenant's call is enough to forget everything")
  t.match(await problemOf((async () => here.tenant('tenant-1'))()), /^tenant_not_found/)
})

t.test('a load overtaken by a deletion is not cached', async (t) => {
  const store = await openTestStore(t)
  const view = watched(store.keys)
  const keys = await openKeys({ keys: view.store, clock: clockAt(0) }, { rootKey: newRoot(), create: true })
  for (const id of ['tenant-1', 'tenant-2']) await addTenant(store, id, await keys.newTenantKeys(id, 0))
  const read = Promise.withResolvers<void>()
  const deleted = Promise.withResolvers<void>()
  view.after = async (tenantId) => {
    if (tenantId !== 'tenant-1') return
    read.resolve()
    await deleted.promise
  }
  const overtaken = keys.tenant('tenant-1')
  await read.promise
  await store.tenants.delete('tenant-1', 0)
  await keys.tenant('tenant-2')
  deleted.resolve()
  await overtaken
  t.match(await problemOf((async () => keys.tenant('tenant-1'))()), /^tenant_not_found/)
})

t.test('a failed load is not cached', async (t) => {
  const store = await openTestStore(t)
  const view = watched(store.keys)
  const keys = await openKeys({ keys: view.store, clock: clockAt(0) }, { rootKey: newRoot(), create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 0))
  view.rows = () => {
    throw new AppError('gateway_timeout', 'The store does not respond.')
  }
  t.match(await problemOf((async () => keys.tenant('tenant-1'))()), /^gateway_timeout/)
  view.rows = (rows) => rows
  t.ok(await keys.tenant('tenant-1'))
})

t.test('a key version created by another process is read once, also after a failed open', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const clock = clockAt(0)
  const view = watched(store.keys)
  const keys = await openKeys({ keys: view.store, clock }, { rootKey, create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 0))
  const old = await keys.tenant('tenant-1')
  const under = { tenantId: 'tenant-1', ...context }
  const first = old.seal(Buffer.from('first'), under)

  const rotated = createWrapper(rootKey.reveal()).fresh(
    { tenant_id: 'tenant-1', purpose: 'data', version: 2 },
    1,
  )
  t.ok(await store.keys.add([rotated]))
  const elsewhere = await openKeys({ keys: store.keys, clock }, { rootKey, create: false })
  const sealed = (await elsewhere.tenant('tenant-1')).seal(Buffer.from('second'), under)
  t.equal(sealed.readUInt32BE(1), 2, 'the newest key seals')

  view.reads = 0
  clock.time = 1_000
  const fresh = await keys.tenant('tenant-1', [first, sealed])
  t.equal(view.reads, 1)
  t.equal(fresh.open(sealed, under).toString(), 'second')
  t.equal(fresh.open(first, under).toString(), 'first')

  const unknown = Buffer.from(sealed)
  unknown.writeUInt32BE(9, 1)
  await keys.tenant('tenant-1', [unknown])
  t.equal(view.reads, 1, 'a forged version costs no read within a second of the last')
  t.throws(() => fresh.open(unknown, under), { code: 'internal' })
  clock.time = 2_000
  t.not(await keys.tenant('tenant-1'), fresh, 'a failed open has the next load read again')
  t.equal(view.reads, 2)
})

t.test('keys are never printed', async (t) => {
  const store = await openTestStore(t)
  const rootKey = newRoot()
  const keys = await openKeys({ keys: store.keys, clock: clockAt(0) }, { rootKey, create: true })
  await addTenant(store, 'tenant-1', await keys.newTenantKeys('tenant-1', 0))
  const ring = await keys.tenant('tenant-1')
  const wrapper = createWrapper(rootKey.reveal())
  const material: Buffer[] = [rootKey.reveal()]
  for (const row of [...(await store.keys.keys('')), ...(await store.keys.keys('tenant-1'))])
    material.push(wrapper.unwrap(row)!)
  for (const thing of [keys, ring, wrapper, rootKey]) {
    const printed = `${inspect(thing, { depth: 9, showHidden: true })} ${JSON.stringify(thing)} ${thing}`
    for (const key of material)
      for (const form of ['hex', 'base64', 'latin1'] as const) t.notOk(printed.includes(key.toString(form)))
    t.notMatch(printed, /Buffer\(32\)|<Buffer/)
  }
  const stored = Buffer.concat((await store.keys.keys('tenant-1')).map((row) => row.wrapped))
  for (const key of material) t.notOk(stored.includes(key))
})
