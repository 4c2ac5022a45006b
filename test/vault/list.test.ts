import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { PageRequest, UseContext } from '../../src/sdk/index.ts'
import { CARD, failure, MASKED_CARD, openTestVault, rule } from './kit.ts'

const first: PageRequest = { kind: 'offset', page: 1, size: 20 }

t.test('cursor pages return all tokens once, also during creates, and count nothing', async (t) => {
  const { create, vault, as, store } = await openTestVault(t)
  Object.assign(store.tokens, { count: () => t.fail('counted') })
  for (const id of ['aaa', 'bbb', 'ccc', 'ddd', 'eee']) await create({ data: 1, id })
  const seen: string[] = []
  let start: string | undefined
  do {
    const page = await vault.list({}, { kind: 'cursor', size: 2, ...(start ? { start } : {}) }, as())
    seen.push(...page.data.map(({ id }) => id))
    start = page.next
    if (start) await create({ data: 'between' })
  } while (start)
  t.same(seen, ['eee', 'ddd', 'ccc', 'bbb', 'aaa'])
  const page = await vault.list({ ids: seen }, { kind: 'cursor', size: 5 }, as())
  t.equal(page.next, undefined, 'a last page that is full has no next')
})

t.test('a cursor that was altered, or is of another tenant, is invalid', async (t) => {
  const { create, vault, as, addTenant } = await openTestVault(t)
  for (const id of ['aaa', 'bbb', 'ccc']) await create({ data: 1, id })
  const { next = '' } = await vault.list({}, { kind: 'cursor', size: 1 }, as())
  t.ok(next.length > 0 && next.length <= 500)
  const list = (start: string, context = as()) => vault.list({}, { kind: 'cursor', size: 1, start }, context)
  t.equal((await list(next)).data[0]?.id, 'bbb')
  const flipped = next.replace(/.(?=.{3}$)/, (c) => (c === 'A' ? 'B' : 'A'))
  for (const start of ['', 'x', '1', flipped, next.slice(1), `${next}AAAA`, 'A'.repeat(501), `${next}=`, 'é'])
    t.match(await failure(list(start)), { code: 'invalid', errors: { start: [String] } })
  const other = as(undefined, [], await addTenant())
  t.equal((await failure(list(next, other))).code, 'invalid')
})

t.test('pages outside the limits are invalid', async (t) => {
  const { vault, as } = await openTestVault(t)
  const pages: PageRequest[] = [
    { kind: 'offset', page: 0, size: 20 },
    { kind: 'offset', page: 1.5, size: 20 },
    { kind: 'offset', page: Number.NaN, size: 20 },
    { kind: 'offset', page: 1, size: 0 },
    { kind: 'offset', page: 1, size: 101 },
    { kind: 'cursor', size: 0 },
    { kind: 'cursor', size: 101 },
  ]
  for (const page of pages) t.equal((await failure(vault.list({}, page, as()))).code, 'invalid')
  t.equal((await vault.list({}, { kind: 'offset', page: 1, size: 100 }, as())).total, 0)
})

t.test('callers see the permitted tokens, each by its own rule', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  await create({ id: 'card', type: 'card', data: CARD })
  await create({ id: 'plain', data: 'plain' })
  await create({ id: 'team', data: 'team', containers: ['/team/a/'] })
  await create({ id: 'hidden', data: 'unseen', containers: ['/hidden/'] })
  records.splice(0)
  const context = as(
    [],
    [
      rule('/pci/', 'mask', ['token:read'], 1),
      rule('/general/', 'redact', ['token:read'], 2),
      rule('/team/', 'reveal', ['token:read'], 3),
      rule('/hidden/', 'reveal', ['token:search'], 4),
    ],
  )
  const { data, total } = await vault.list({}, first, context)
  t.same(
    data.map((token) => [token.id, token.data]),
    [
      ['team', 'team'],
      ['plain', undefined],
      ['card', MASKED_CARD],
    ],
  )
  t.equal(total, 3)
  t.same(
    records.map(({ entity_id, disclosure, message }) => [entity_id, disclosure, message]),
    [
      ['team', 'reveal', 'Token retrieved'],
      ['card', 'mask', 'Card retrieved'],
    ],
    'each token whose data is shown has a record, which says how',
  )
  const searched = await vault.list({}, first, context, 'token:search')
  t.same(
    searched.data.map(({ id }) => id),
    ['hidden'],
    'token:search is a permission of its own',
  )
})

t.test('a list is filtered by members, and searched by data', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const a = await create({
    id: 'aaa',
    type: 'card',
    data: CARD,
    metadata: { color: 'red' },
    search_indexes: ['{{ data.number }}', '{{ data.number | last4 }}', '{{ data.absent }}', '{{ data }}'],
    fingerprint_expression: '{{ data.number }}',
  })
  await create({ id: 'bbb', type: 'locker', data: { name: 'Ada', pin: '1' }, metadata: { color: 'red' } })
  await create({ id: 'ccc', data: 'x', metadata: { color: 'blue' }, containers: ['/pci/low/'] })
  const ids = async (filter: object) => (await vault.list(filter, first, as())).data.map(({ id }) => id)
  t.same(await ids({ ids: ['aaa', 'ccc', 'zzz'] }), ['ccc', 'aaa'])
  t.same(await ids({ types: ['card', 'locker'] }), ['bbb', 'aaa'])
  t.same(await ids({ containers: ['/PCI/'] }), ['ccc', 'aaa'])
  t.same(await ids({ fingerprints: [a.fingerprint] }), ['aaa'])
  t.same(await ids({ metadata: { color: 'red' }, types: ['card'] }), ['aaa'])
  t.same(await ids({ query: 'data:4242424242424242' }), ['aaa'])
  t.same(await ids({ query: 'data:4242' }), ['aaa'])
  t.same(await ids({ query: 'data:42424242' }), [], 'exact only')
  t.same(await ids({ query: 'data:""' }), [], 'an index that yields nothing is not findable as empty')
  t.same(await ids({ query: 'data:Ada' }), ['bbb'], 'the default indexes of a type')
  const { cvc: _, ...indexed } = CARD
  t.same(
    await ids({ query: `data:${JSON.stringify(JSON.stringify(indexed))}` }),
    ['aaa'],
    'objects as JSON text, without what is short-lived',
  )
  t.same(await ids({ query: 'NOT metadata.color:red' }), ['ccc'])
})

t.test('a search by data that shows none records the tokens that it confirms', async (t) => {
  const { create, vault, as, records } = await openTestVault(t, { limits: { opened: 30_000 } })
  const values = { data: 'guess', search_indexes: ['{{ data }}'] }
  for (const id of ['aaa', 'bbb', 'ccc']) await create({ ...values, id })
  await create({ data: 'ddd', search_indexes: ['{{ data }}'], id: 'ddd' })
  const reading = rule('/', 'redact', ['token:search', 'token:read'])
  const guess = { query: 'data:guess' }
  const recorded = async (filter: object, page: PageRequest, context: UseContext) => {
    records.splice(0)
    await vault.list(filter, page, context, 'token:search').catch(() => {})
    t.ok(
      records.every(({ operation, actor_id }) => operation === 'read' && actor_id === context.caller.actorId),
    )
    t.ok(records.every(({ entity_id, disclosure }) => (disclosure === 'match') === (entity_id !== '')))
    return records.map(({ entity_id }) => entity_id)
  }
  const redacted = as([], [reading])
  t.same(await recorded(guess, first, redacted), ['ccc', 'bbb', 'aaa'])
  t.same(await recorded(guess, { kind: 'cursor', size: 2 }, redacted), ['ccc', 'bbb'])
  const beyond = { kind: 'offset', page: 9, size: 1 } as const
  t.same(await recorded(guess, beyond, redacted), ['ccc', 'bbb', 'aaa'], 'the total discloses them')
  t.same(
    await recorded({ query: 'id:aaa AND NOT data:guess' }, first, redacted),
    [''],
    'no match discloses, too',
  )
  t.same(await recorded({ ids: ['aaa'] }, first, redacted), [], 'no value searched')
  const masked = as([], [{ ...reading, transform: 'mask' }])
  t.same(await recorded(guess, first, masked), ['ccc', 'bbb', 'aaa'], 'tokens without a mask')
  await create({ ...values, data: ['guess', 'x'.repeat(40_000)], search_indexes: ['guess'], id: 'eee' })
  t.same(await recorded({ ...guess, ids: ['eee'] }, first, redacted), ['eee'], 'a page that is too large')
})

t.test('a tenant has at most four concurrent pages; another tenant does not wait for them', async (t) => {
  const { create, vault, as, addTenant, store } = await openTestVault(t)
  const parent = await create({ data: 'x' })
  const { list } = store.tokens
  let running = 0
  let most = 0
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const first = as().caller.tenantId
  Object.assign(store.tokens, {
    list: async (query: Parameters<typeof list>[0]) => {
      if (query.tenantId !== first) return list(query)
      most = Math.max(most, ++running)
      await gate
      return list(query).finally(() => running--)
    },
  })
  const page: PageRequest = { kind: 'offset', page: 1, size: 20 }
  const pages = Promise.all([
    ...Array.from({ length: 10 }, () => vault.list({}, page, as())),
    ...Array.from({ length: 10 }, () => vault.children(parent.id, {}, page, as())),
  ])
  const other = await vault.list({}, page, as(undefined, undefined, await addTenant()))
  t.equal(other.total, 0)
  // The first tenant's wait for the gate.
  while (running < 4) await setImmediate()
  open()
  t.equal((await pages).length, 20)
  t.equal(most, 4)
})
