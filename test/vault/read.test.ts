import t from 'tap'
import type { Disclosure } from '../../src/sdk/index.ts'
import { CARD, failure, MASKED_CARD, openTestVault, rule, START } from './kit.ts'

t.test('a read shows what its rule discloses', async (t) => {
  const { create, vault, as, reveal } = await openTestVault(t)
  const card = await create({ type: 'card', data: CARD })
  const plain = await create({ data: 'secret' })
  const masked = await create({ data: 'secret', mask: '{{ data | reveal_last: 2 }}' })
  const seen = async (id: string, transform: Disclosure) =>
    (await vault.get(id, as([], [rule('/', transform, ['token:read'])]))).data
  t.same(
    [await seen(card.id, 'redact'), await seen(card.id, 'mask'), await seen(card.id, 'reveal')],
    [undefined, MASKED_CARD, CARD],
  )
  t.same(
    [await seen(plain.id, 'redact'), await seen(plain.id, 'mask'), await seen(plain.id, 'reveal')],
    [undefined, undefined, 'secret'],
  )
  t.equal(await seen(masked.id, 'mask'), 'XXXXet')
  t.same((await vault.get(card.id, as(['token:read']))).data, MASKED_CARD, 'a plain permission masks')
  t.same((await vault.get(card.id, reveal())).data, CARD)
})

t.test('members that a type never returns stay hidden under reveal, and from masks', async (t) => {
  const { create, vault, reveal, as } = await openTestVault(t)
  const { id } = await create({
    type: 'locker',
    data: { name: ' Ada ', pin: '9876' },
    mask: { shown: '{{ data.name }}', pin: '{{ data.pin }}' },
  })
  t.same((await vault.get(id, reveal())).data, { name: 'Ada' })
  t.notMatch(JSON.stringify((await vault.get(id, as())).data), /9876/)
})

t.test('an expired token is not found from that instant on', async (t) => {
  const { create, vault, clock, reveal } = await openTestVault(t)
  const { id } = await create({ data: 'x', expires_at: '2026-03-01T12:00:10Z' })
  clock.at = START + 9_999
  t.equal((await vault.get(id, reveal())).data, 'x')
  const early = reveal()
  clock.at = START + 10_000
  t.equal((await failure(vault.get(id, reveal()))).code, 'token_not_found')
  t.equal((await failure(vault.get(id, early))).code, 'token_not_found', 'also for a call that began before')
  t.equal((await failure(vault.update(id, {}, reveal()))).code, 'token_not_found')
  t.equal((await failure(vault.delete(id, reveal()))).code, 'token_not_found')
  t.equal((await failure(vault.use([id], reveal()))).code, 'invalid_expression')
  t.same((await vault.list({}, { kind: 'offset', page: 1, size: 10 }, reveal())).total, 0)
})

t.test('a token whose type is not installed shows no data', async (t) => {
  const { create, vault, types, reveal } = await openTestVault(t)
  const { id } = await create({ type: 'locker', data: { name: 'Ada', pin: '9876' } })
  types.delete('locker')
  t.notOk('data' in (await vault.get(id, reveal())))
  t.equal((await failure(vault.use([id], reveal()))).code, 'unprocessable')
  t.equal((await failure(vault.update(id, {}, reveal()))).code, 'unprocessable')
})

t.test('not-found errors repeat only ids that cannot be data', async (t) => {
  const { vault, as } = await openTestVault(t)
  for (const id of ['4242424242424242', '4242 4242 4242 4242', '4242-4242-4242-4242', 'x'.repeat(300)]) {
    const error = await failure(vault.get(id, as()))
    t.notMatch(error.message, /4242|xxxx/)
  }
  const id = '0b8a0b8e-1234-4234-8234-123456789012'
  t.match((await failure(vault.get(id, as()))).message, id)
})

t.test('a row moved to another container, or with a later expiry, does not open', async (t) => {
  const { create, store, tenant, vault, reveal } = await openTestVault(t)
  const edits = [{ container: '/general/low/' }, { expires_at: null }, { expires_at: START + 90_000_000 }]
  for (const edit of edits) {
    const { id } = await create({ data: 'x', expires_at: '2026-03-02T12:00:00Z' })
    t.equal((await vault.get(id, reveal())).data, 'x')
    const [stored] = await store.tokens.read(tenant, [id], START)
    if (!stored) throw new Error('the row is missing')
    const { version, ...row } = stored
    // The row after an edit of the database: the version stays, as the seals name it.
    const next = { ...row, ...edit }
    await store.tokens.delete(tenant, id, START)
    t.equal(version, 1)
    await store.tokens.create([{ ...next, terms: [], deduplicate: false, fallbackIds: [] }], START)
    t.equal((await failure(vault.get(id, reveal()))).code, 'internal', JSON.stringify(edit))
  }
})

t.test('a row that was swapped for another does not open', async (t) => {
  const { create, store, tenant, vault, reveal } = await openTestVault(t)
  const first = await create({ data: 'one' })
  const second = await create({ data: 'two' })
  const [a, b] = await Promise.all(
    [first.id, second.id].map(async (id) => (await store.tokens.read(tenant, [id], START))[0]),
  )
  if (!a || !b) throw new Error('rows are missing')
  const { version, ...row } = a
  await store.tokens.update(
    { row: { ...row, sealed: b.sealed }, version, terms: [], deduplicate: false },
    START,
  )
  t.equal((await failure(vault.get(first.id, reveal()))).code, 'internal')
  t.equal((await vault.get(second.id, reveal())).data, 'two')
})

t.test('many concurrent reads of large tokens leave turns of the event loop to others', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({ data: 'x'.repeat(1_000_000) })
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  const reads = Promise.all(Array.from({ length: 20 }, () => vault.get(id, reveal())))
  setImmediate(count)
  await reads
  isDone = true
  t.ok(turns >= 20, `${turns} turns`)
})
