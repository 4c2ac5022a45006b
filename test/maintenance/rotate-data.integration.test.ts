import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { runRotateData } from '../../src/maintenance/keys.ts'
import { destroyOldKeys, rotateData } from '../../src/maintenance/rotate-data.ts'
import type { SealedStore } from '../../src/store/reencrypt/types.ts'
import { tokenBinding } from '../../src/vault/seal.ts'
import { startTestService, type TestService, testClock } from '../kit/service.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

const HOUR = 60 * 60_000

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }

/** The commands' view of a service, and what they print. */
const operating = (service: TestService, sealed: Partial<SealedStore> = {}) => {
  const lines: string[] = []
  const deps = {
    vault: {
      store: { ...service.store, sealed: { ...service.store.sealed, ...sealed } },
      keys: service.keys,
      record: async () => {},
    },
    clock: service.clock,
    print: (line: string) => void lines.push(line),
  }
  return { deps, lines }
}

/** Key versions of everything that is sealed for a tenant, with how often each is there. */
const versionsIn = async ({ store, tenantId }: TestService) => {
  const counts: Record<string, number> = {}
  const count = (sealed: Buffer | null) => {
    if (sealed === null) return
    const version = sealed.readUInt32BE(1)
    counts[version] = (counts[version] ?? 0) + 1
  }
  for (const { sealed, ephemeral } of await store.sealed.tokens(tenantId, 0, 1_000)) {
    count(sealed)
    count(ephemeral)
  }
  for (const collection of await store.sealed.collections())
    for (const { body, mac } of await store.sealed.records(collection, tenantId, 0, 1_000)) {
      count(mac)
      const sealed: string | undefined = JSON.parse(body).$sealed
      const version = sealed === undefined ? undefined : Buffer.from(sealed, 'base64').readUInt32BE(1)
      if (version !== undefined && version !== mac?.readUInt32BE(1))
        throw new Error('a record is sealed under another version than its MAC was made under')
    }
  count((await store.tenants.get(tenantId))?.mac ?? null)
  for (const { sealed, shown } of await store.sealed.responses(tenantId, Buffer.alloc(0), 1_000)) {
    count(sealed)
    count(shown)
  }
  return counts
}

/** A service with cards that have a cvc, a proxy with a secret configuration, and a stored response. */
const filled = async (t: Parameters<typeof startTestService>[0], tokens = 3) => {
  const clock = testClock()
  const service = await startTestService(t, { clock })
  const permissions = ['token:create', 'token:read', 'token:update']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const key = await service.application({ rules })
  const ids: string[] = []
  const once = { key, headers: { 'svc-idempotency-key': 'once' }, body: { type: 'card', data: CARD } }
  const first = await service.call('POST', '/tokens', once)
  ids.push(first.json.id)
  for (let i = 1; i < tokens; i++)
    ids.push(
      (
        await service.call('POST', '/tokens', {
          key,
          body: { data: `value ${i}`, destinations: [{ host: 'a.test' }] },
        })
      ).json.id,
    )
  const proxy = await service.call('POST', '/proxies', {
    body: {
      name: 'A proxy',
      destination_url: 'https://example.com',
      configuration: { password: 'xyzzy' },
      request_transform: { code: 'module.exports = async ({ args }) => args' },
    },
  })
  t.equal(proxy.status, 201, proxy.text)
  return { service, clock, key, ids, once, first, proxy }
}

t.test(
  'tokens, ephemeral members, records and stored responses are re-encrypted, and read the same',
  async (t) => {
    const { service, key, ids, once, first, proxy } = await filled(t)
    const before = await versionsIn(service)
    t.same(Object.keys(before), ['1'])
    t.ok((before[1] ?? 0) >= 3 + 1 + 1 + 2, 'all kinds are there')
    const { deps, lines } = operating(service)
    t.ok(await rotateData(deps, service.tenantId))
    t.same(await versionsIn(service), { 2: before[1] })
    t.match(lines.at(-1), `version 2, ${before[1]} values`)

    t.match((await service.call('GET', `/tokens/${ids[0]}`, { key })).json.data, CARD)
    t.equal((await service.call('GET', `/tokens/${ids[1]}`, { key })).json.data, 'value 1')
    t.match((await service.call('POST', '/tokens', once)).json, { id: first.json.id })
    t.match((await service.call('GET', `/proxies/${proxy.json.id}`)).json, {
      configuration: proxy.json.configuration,
      name: 'A proxy',
    })
    const same = await service.call('POST', '/tokens', { key, body: { type: 'card', data: CARD } })
    t.equal(same.json.fingerprint, first.json.fingerprint, 'fingerprints have a key of their own')
    t.equal((await versionsIn(service))[1], undefined, 'new values are under the new key')
  },
)

t.test('a killed rotation continues with the version it had created', async (t) => {
  const { service } = await filled(t, 250)
  let writes = 0
  const { deps: dying } = operating(service, {
    reseal: async (change) => {
      if (++writes === 2) throw new Error('killed')
      return service.store.sealed.reseal(change)
    },
  })
  await t.rejects(rotateData(dying, service.tenantId), { message: 'killed' })
  const { 1: left = 0, 2: done = 0 } = await versionsIn(service)
  t.ok(left > 100 && done >= 100, 'some of both')
  const { deps, lines } = operating(service)
  t.notOk(await destroyOldKeys(deps, service.tenantId))
  t.match(lines.at(-1), /is not complete/)
  t.ok(await rotateData(deps, service.tenantId))
  t.same(await versionsIn(service), { 2: left + done })
  t.ok(await rotateData(deps, service.tenantId), 'the next one is another rotation')
  t.same(await versionsIn(service), { 3: left + done })
})

t.test('an update, or a deletion, between read and write of a batch is not lost', async (t) => {
  const { service, key, ids } = await filled(t, 4)
  const { deps } = operating(service, {
    reseal: async (change) => {
      if (change.tokens?.length) {
        await service.call('PATCH', `/tokens/${ids[1]}`, { key, body: { data: 'newer' } })
        await service.store.tokens.delete(service.tenantId, ids[2]!, service.clock.now())
      }
      return service.store.sealed.reseal(change)
    },
  })
  t.ok(await rotateData(deps, service.tenantId))
  t.equal((await service.call('GET', `/tokens/${ids[1]}`, { key })).json.data, 'newer')
  t.equal((await service.call('GET', `/tokens/${ids[2]}`, { key })).status, 404)
  t.equal((await service.call('GET', `/tokens/${ids[3]}`, { key })).json.data, 'value 3')
  t.equal((await versionsIn(service))[1], undefined)
})

t.test('callers that update during re-encryption never get a conflict from it', async (t) => {
  const { service, key, ids } = await filled(t, 6)
  const { deps } = operating(service)
  let rotating = true
  const work = ids.slice(1).map(async (id) => {
    for (let i = 0; rotating || i < 3; i++) {
      const data = `${id} ${i}`
      const patched = await service.call('PATCH', `/tokens/${id}`, { key, body: { data } })
      if (patched.status !== 200) t.fail(patched.text)
      const read = await service.call('GET', `/tokens/${id}`, { key })
      if (read.json.data !== data) t.fail(`${read.text} is not ${data}`)
    }
  })
  for (let i = 0; i < 5; i++) await rotateData(deps, service.tenantId)
  rotating = false
  await Promise.all(work)
  t.same(Object.keys(await versionsIn(service)), ['6'])
})

t.test('an old version is destroyed an hour later, once nothing uses it', async (t) => {
  const { service, clock, key, ids } = await filled(t)
  const { deps, lines } = operating(service)
  t.ok(await destroyOldKeys(deps, service.tenantId), 'one version is nothing to retire')
  const stale = await service.keys.tenant(service.tenantId)
  await rotateData(deps, service.tenantId)
  t.notOk(await destroyOldKeys(deps, service.tenantId))
  t.match(lines.at(-1), /Retry after 2026-03-01T13:00:00/)

  // what a process that slept wrote under its old ring
  const [row] = (await service.store.sealed.tokens(service.tenantId, 0, 10)).slice(1)
  const bound = { ...tokenBinding(service.tenantId, row!), part: 'sealed' } as const
  const late = stale.seal(Buffer.from(JSON.stringify({ data: 'late' })), bound)
  t.equal(late.readUInt32BE(1), 1)
  await service.store.sealed.reseal({
    tenantId: service.tenantId,
    tokens: [{ seq: row!.seq, sealed: { from: row!.sealed, to: late } }],
  })
  clock.advance(HOUR)
  t.ok(await destroyOldKeys(deps, service.tenantId))
  t.match(lines.at(-1), /versions 1; 2 is the only one/)
  t.same(
    (await service.store.keys.keys(service.tenantId)).map(({ version }) => version),
    [2, 1],
    'data 2, mac 1',
  )
  t.equal((await service.call('GET', `/tokens/${ids[1]}`, { key })).json.data, 'late')
})

t.test('nothing is written under old versions while they are destroyed, and after', async (t) => {
  const { service, clock, ids } = await filled(t)
  const { tenantId, store } = service
  const stale = await service.keys.tenant(tenantId)
  const now = clock.now()
  await rotateData(operating(service).deps, tenantId)
  clock.advance(HOUR)
  const [row] = (await store.sealed.tokens(tenantId, 0, 10)).filter(({ id }) => id === ids[1])
  const sealed = stale.seal(Buffer.from('late'), { ...tokenBinding(tenantId, row!), part: 'sealed' })
  const created = { ...row!, id: 'late', sealed, terms: [], deduplicate: false, fallbackIds: [] }
  const record = { id: 'late' }
  const mac = stale.mac('late')
  const shape = { name: 'proxies', indexes: [], lookups: [] }
  const key = Buffer.alloc(16)
  const response = { tenantId, key, holder: 'late', expiresAt: now + HOUR }
  const late: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => store.tokens.create([created], now),
    update: () =>
      store.tokens.update(
        { row: { ...row!, sealed }, version: row!.version, terms: [], deduplicate: false },
        now,
      ),
    record: () =>
      store.records.commit(
        [{ kind: 'insert', collection: 'proxies', tenantId, id: 'late', record, shape, mac }],
        now,
      ),
    tenant: async () => {
      const { mac: from, ...tenant } = (await store.tenants.get(tenantId))!
      return store.tenants.update(tenant, { from: from!, to: mac })
    },
    response: () => store.idempotency.finish({ ...response, sealed }, now),
    reseal: () =>
      store.sealed.reseal({
        tenantId,
        tokens: [{ seq: row!.seq, sealed: { from: row!.sealed, to: sealed } }],
      }),
  }
  const rejected = async (when: string) => {
    for (const [name, write] of Object.entries(late))
      await t.rejects(write(), { code: 'overloaded' }, `${name} ${when}`)
  }
  const dying = operating(service, {
    tokens: async () => {
      throw new Error('killed')
    },
  })
  await t.rejects(destroyOldKeys(dying.deps, tenantId), { message: 'killed' })
  await rejected('when a command was killed')
  t.same(Object.keys(await versionsIn(service)), ['2'], 'what it left is whole')
  const { deps } = operating(service, {
    tokens: async (...page) => {
      await rejected('while they are looked for')
      return store.sealed.tokens(...page)
    },
  })
  t.ok(await destroyOldKeys(deps, tenantId))
  await rejected('when they are gone')
  t.same(Object.keys(await versionsIn(service)), ['2'])
  t.equal((await store.sealed.tokens(tenantId, 0, 100)).length, ids.length)
})

t.test('a value that does not open is left unchanged, with its key, and reported', async (t) => {
  const { service, clock } = await filled(t)
  const [row] = await service.store.sealed.tokens(service.tenantId, 0, 1)
  const to = Buffer.from(row!.sealed)
  to[to.length - 1]! ^= 1
  const tokens = [{ seq: row!.seq, sealed: { from: row!.sealed, to } }]
  await service.store.sealed.reseal({ tenantId: service.tenantId, tokens })
  const { deps, lines } = operating(service)
  t.notOk(await rotateData(deps, service.tenantId))
  t.match(lines.slice(-2), [`BROKEN  token "${row!.id}"`, /^BROKEN {2}1 values of tenant/])
  clock.advance(HOUR)
  t.notOk(await destroyOldKeys(deps, service.tenantId))
  t.same((await service.store.sealed.tokens(service.tenantId, 0, 1))[0]?.sealed, to)
})

t.test('a tenant whose key was altered does not stop the rotation of others', async (t) => {
  const { here } = twoFolders(t)
  const vault = await openVault(here)
  await vault.tenant('second')
  const broken = (await vault.store.tenants.list()).find(({ id }) => id !== 'second')!.id
  await vault.close()
  const db = new Database(join(here, 'sidevault.db'))
  db.prepare("update tenant_keys set wrapped = zeroblob(69) where tenant_id = ? and purpose = 'mac'").run(
    broken,
  )
  db.close()
  const lines: string[] = []
  t.notOk(await runRotateData(configOf(here), undefined, (line) => lines.push(line)))
  t.match(lines.sort(), [`BROKEN  tenant "${broken}": The keys`, 'rotated second: data key version 2'])
})

t.test('an unknown tenant is reported', async (t) => {
  const { deps } = operating(await startTestService(t))
  await t.rejects(rotateData(deps, 'unknown'), {
    code: 'tenant_not_found',
  })
})
