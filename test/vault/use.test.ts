import t from 'tap'
import type { Disclosure } from '../../src/sdk/index.ts'
import { ALL, CARD, failure, MASKED_CARD, openTestVault, rule } from './kit.ts'

t.test('values are revealed under a plain permission, write-only members included', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const card = await create({ type: 'card', data: CARD, metadata: { a: '1' } })
  const locker = await create({ type: 'locker', data: { name: 'Ada', pin: '9876' } })
  const used = await vault.use([card.id, locker.id, card.id], as(['token:use']))
  t.same([...used.keys()].sort(), [card.id, locker.id].sort())
  t.match(used.get(card.id), { id: card.id, type: 'card', data: CARD, container: '/pci/high/' })
  t.same(used.get(locker.id)?.data, { name: 'Ada', pin: '9876' })
})

t.test('the whole token in use equals the token read, with the data that its rule discloses', async (t) => {
  const { create, vault, as, reveal } = await openTestVault(t)
  const { id } = await create({
    type: 'card',
    data: CARD,
    metadata: { a: '1' },
    search_indexes: ['{{ data.number | last4 }}'],
    fingerprint_expression: '{{ data.number }}',
    expires_at: '2099-01-01T00:00:00Z',
  })
  const read = await vault.get(id, reveal())
  t.match(read, { fingerprint: String, expires_at: String, mask: Object })
  const { fingerprint: _hidden, ...hidden } = read
  for (const [transform, data] of Object.entries({ reveal: CARD, mask: MASKED_CARD, redact: null })) {
    const shown = transform === 'reveal' ? read : hidden
    const used = await vault.use([id], as([], [rule('/', transform as Disclosure, ['token:use'])]))
    t.same(used.get(id)?.toToken(), { ...shown, data }, transform)
  }
})

t.test('each token has one record, and is counted', async (t) => {
  const { create, vault, as, records, metrics } = await openTestVault(t)
  const a = await create({ type: 'card', data: CARD })
  const b = await create({ data: 1 })
  records.splice(0)
  await vault.use([a.id, b.id, a.id], as())
  t.same(
    records
      .map(({ entity_id, entity_type, operation, message }) => [entity_id, entity_type, operation, message])
      .sort(),
    [
      [a.id, 'card', 'use', 'Card used'],
      [b.id, 'token', 'use', 'Token used'],
    ].sort(),
  )
  const { values } = await metrics.disclosed.get()
  t.ok(
    values.some(
      ({ labels, value }: { labels: Record<string, unknown>; value: number }) =>
        value === 1 && labels.type === 'card' && labels.purpose === 'use' && labels.disclosure === 'reveal',
    ),
  )
})

t.test('use returns no token when one id is unknown or denied', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const allowed = await create({ data: 1, containers: ['/a/'] })
  const denied = await create({ data: 2, containers: ['/b/'] })
  records.splice(0)
  const context = as([], [rule('/a/', 'reveal', ALL)])
  t.equal((await failure(vault.use([allowed.id, denied.id], context))).code, 'forbidden')
  t.same(
    records.map(({ entity_id, operation, message }) => [entity_id, operation, message]),
    [[denied.id, 'use', 'Token use denied']],
  )
  t.equal((await failure(vault.use([allowed.id, 'unknown'], context))).code, 'invalid_expression')
  t.equal(records.length, 1)
})

t.test('a use of no ids needs no permission, and too many ids are rejected', async (t) => {
  const { vault, as } = await openTestVault(t, { limits: { tokens: 2 } })
  t.equal((await vault.use([], as([]))).size, 0)
  t.equal((await failure(vault.use(['aaa', 'bbb', 'ccc'], as()))).code, 'invalid_expression')
})

t.test('a thousand tokens use one read', async (t) => {
  const { vault, as, reveal } = await openTestVault(t)
  const inputs = Array.from({ length: 1000 }, (_, i) => ({ data: `value ${i}`, id: `id-${i}` }))
  await vault.create(inputs, as())
  const used = await vault.use(
    inputs.map(({ id }) => id),
    reveal(),
  )
  t.equal(used.size, 1000)
  t.equal(used.get('id-999')?.data, 'value 999')
})

t.test('the record of a use names the surfaces of its token, and no record of a read does', async (t) => {
  const { create, vault, as, reveal, records } = await openTestVault(t)
  const a = await create({ data: 1 })
  const b = await create({ data: 2 })
  records.splice(0)
  const surfaces = new Map([
    [a.id, ['body', 'header:authorization'] as const],
    [b.id, ['path'] as const],
  ])
  const surfacesOf = (id: string) => surfaces.get(id) ?? []
  await vault.use([a.id, b.id], { ...as(), surfacesOf })
  await vault.preview([a.id], { ...as(), surfacesOf })
  await vault.get(a.id, reveal())
  await vault.use([b.id], as())
  t.same(
    new Map(records.slice(0, 2).map((record) => [record.entity_id, record.surfaces])),
    new Map([
      [a.id, 'body\nheader:authorization'],
      [b.id, 'path'],
    ]),
  )
  t.ok(records.length > 3)
  t.ok(records.slice(2).every((record) => !('surfaces' in record)))
})

t.test('existing ids are those of the tenant, of any container, and leave no record', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const ended = await create({ data: 1, expires_at: '2099-01-01T00:00:00Z' })
  records.splice(0)
  const many = Array.from({ length: 600 }, (_, at) => `unknown-${at}`)
  const nothing = as([])
  t.same([...(await vault.known([id, ...many, id, ended.id], nothing)).keys()], [id, ended.id])
  t.equal((await vault.known([id], nothing)).get(id), '/pci/high/')
  t.same(await vault.known([], nothing), new Map())
  t.same(await vault.known([ended.id], { ...nothing, now: Date.parse('2099-01-02T00:00:00Z') }), new Map())
  t.same(
    await vault.known([id], { ...nothing, caller: { ...nothing.caller, tenantId: 'another' } }),
    new Map(),
  )
  t.same(records, [])
})
