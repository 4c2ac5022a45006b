import t from 'tap'
import type { UseContext } from '../../src/sdk/index.ts'
import { ALL, CARD, failure, openTestVault, rule, START, type TestVault } from './kit.ts'

/** Every method that takes an id, and how it fails for one that does not exist. */
const BY_ID = {
  get: [({ vault }, id, context) => vault.get(id, context), 'token_not_found'],
  update: [({ vault }, id, context) => vault.update(id, { data: 'changed' }, context), 'token_not_found'],
  delete: [({ vault }, id, context) => vault.delete(id, context), 'token_not_found'],
  use: [({ vault }, id, context) => vault.use([id], context), 'invalid_expression'],
  detokenize: [({ vault }, id, context) => vault.detokenize(`{{ ${id} }}`, context), 'invalid_expression'],
} satisfies Record<string, [(v: TestVault, id: string, context: UseContext) => Promise<unknown>, string]>

t.test("another tenant's token is not found, whatever the caller holds", async (t) => {
  const kit = await openTestVault(t)
  const { id } = await kit.create({ data: 'original' })
  const other = kit.reveal(await kit.addTenant())
  for (const [name, [call, code]] of Object.entries(BY_ID)) {
    const theirs = await failure(call(kit, id, other))
    const missing = await failure(call(kit, '0b8a0b8e-0000-4000-8000-123456789012', other))
    t.equal(theirs.code, code, name)
    t.equal(
      theirs.message.replace(id, ''),
      missing.message.replace(/0b8a[0-9a-f-]{32}/, ''),
      `${name} shows no difference`,
    )
  }
  for (const filter of [{}, { ids: [id] }, { query: `id:${id}` }])
    t.same(await kit.vault.list(filter, { kind: 'cursor', size: 100 }, other), { data: [], total: undefined })
  t.equal((await kit.vault.get(id, kit.reveal())).data, 'original')
})

t.test('equal ids of two tenants are two tokens', async (t) => {
  const { create, vault, reveal, addTenant } = await openTestVault(t)
  const other = reveal(await addTenant())
  await create({ id: 'same', data: 'mine' })
  await create({ id: 'same', data: 'theirs' }, other)
  t.equal((await vault.get('same', reveal())).data, 'mine')
  t.equal((await vault.get('same', other)).data, 'theirs')
  await vault.delete('same', other)
  t.equal((await vault.get('same', reveal())).data, 'mine')
})

t.test('a caller of a missing tenant gets nothing', async (t) => {
  const { vault, as, create } = await openTestVault(t)
  const nowhere = as(ALL, [], '0b8a0b8e-0000-4000-8000-123456789012')
  t.equal((await failure(create({ data: 1 }, nowhere))).code, 'tenant_not_found')
  t.equal((await failure(vault.get('abc', nowhere))).code, 'token_not_found')
})

t.test('nothing is returned or started while the journal cannot be written', async (t) => {
  const kit = await openTestVault(t)
  const { create, vault, reveal, failing, store, tenant, as } = kit
  const { id } = await create({ type: 'card', data: CARD })
  failing.append = true
  const page = { kind: 'offset', page: 1, size: 10 } as const
  const disclosures = [
    () => vault.get(id, reveal()),
    () => vault.list({}, page, reveal()),
    () => vault.use([id], reveal()),
    () => vault.detokenize(`{{ ${id} }}`, reveal()),
    () => vault.update(id, {}, reveal()),
    () => vault.get(id, as(['token:create'])),
    () => vault.delete(id, as()),
  ]
  for (const call of disclosures) t.equal((await failure(call())).code, 'gateway_timeout', String(call))
  failing.append = false
  failing.health = true
  const count = () => store.tokens.count({ tenantId: tenant, now: START, visibility: 'all' })
  t.equal((await failure(create({ data: 1 }))).code, 'gateway_timeout')
  t.equal((await failure(vault.tokenize('x', as()))).code, 'gateway_timeout')
  t.equal((await failure(vault.update(id, { metadata: { a: '1' } }, as()))).code, 'gateway_timeout')
  t.equal(await count(), 1)
  failing.health = false
  t.notOk((await vault.get(id, as())).metadata)
})

t.test('records name actor, action and token, and nothing of its data', async (t) => {
  const { create, vault, as, reveal, records, tenant, clock } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD, metadata: { a: 'marked' } })
  clock.at += 1000
  await vault.get(id, reveal())
  await vault.update(id, { data: { expiration_year: 2031 } }, as())
  await vault.use([id], as())
  await vault.delete(id, as())
  t.same(
    records.map(({ operation, message }) => [operation, message]),
    [
      ['create', 'Card created'],
      ['read', 'Card retrieved'],
      ['update', 'Card updated'],
      ['use', 'Card used'],
      ['delete', 'Card deleted'],
    ],
  )
  for (const record of records) {
    t.match(record, {
      tenant_id: tenant,
      entity_type: 'card',
      entity_id: id,
      actor_id: as().caller.actorId,
      actor_type: 'application',
      trace_id: 'trace',
    })
    t.notMatch(JSON.stringify(record), /X4242|42424242|marked/)
  }
  t.same(
    records.map(({ created_at }) => created_at),
    [START, START + 1000, START + 1000, START + 1000, START + 1000],
  )
})

t.test('an anonymous caller has no actor in its records', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const { id } = await create({ data: 1 })
  const context = as([], [rule('/', 'reveal', ['token:use'])])
  await vault.use([id], { ...context, caller: { ...context.caller, actorType: 'anonymous' } })
  t.match(records.at(-1), { actor_id: null, actor_type: null, operation: 'use' })
})
