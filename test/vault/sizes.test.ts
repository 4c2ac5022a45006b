import t from 'tap'
import type { AppError } from '../../src/common/errors.ts'
import { failure, openTestVault } from './kit.ts'

const MIB = 1024 * 1024
/** As JSON exactly 1 MiB: two quotes. */
const LARGEST = 'x'.repeat(MIB - 2)

t.test('a token has at most 1 MiB of data, created or updated, and limited other members', async (t) => {
  const { vault, create, reveal } = await openTestVault(t)
  const { id } = await create({ data: LARGEST })
  const rejected = [
    vault.create([{ data: `${LARGEST}x` }], reveal()),
    vault.tokenize({ a: [`${LARGEST}x`] }, reveal()),
    vault.tokenize(`${'é'.repeat(MIB / 2)}`, reveal()),
    vault.update(id, { data: `${LARGEST}x` }, reveal()),
  ]
  for (const error of await Promise.all(rejected.map(failure))) {
    t.equal(error.code, 'invalid')
    t.match(JSON.stringify(error.errors), /data.*1048576/)
  }
  const { id: object } = await create({ data: { a: 'x'.repeat(600_000) } })
  const merged = await failure(vault.update(object, { data: { b: 'x'.repeat(600_000) } }, reveal()))
  t.match(JSON.stringify(merged.errors), /data.*1048576/)
  const arrays = { data: Array.from({ length: 50_000 }, () => []) }
  t.match(await failure(vault.create([arrays], reveal())), { errors: { data: [String] } })
  const mask = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`m${i}`, i]))
  t.match(await failure(vault.create([{ data: 1, mask }], reveal())), { code: 'invalid' })
})

t.test("the sizes of a call's tokens are summed before any is read", async (t) => {
  const { vault, store, create, reveal, as, records } = await openTestVault(t, {
    limits: { opened: 100_000 },
  })
  const data = 'x'.repeat(5_000)
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await create({ data, metadata: { of: 'all' } })).id)
  const texts = ids.map((id) => `{{ ${id} | json: '$.x' }}`)
  const read = store.tokens.read.bind(store.tokens)
  let reads = 0
  Object.assign(store.tokens, {
    read: (...args: Parameters<typeof read>) => {
      reads++
      return read(...args)
    },
  })
  records.splice(0)
  const calls: Record<string, readonly [AppError['code'], () => Promise<unknown>]> = {
    use: ['too_large', () => vault.use(ids, reveal())],
    preview: ['too_large', () => vault.preview(ids, reveal())],
    detokenize: ['too_large', () => vault.detokenize(texts, reveal())],
    list: ['invalid', () => vault.list({}, { kind: 'offset', page: 1, size: 100 }, reveal())],
    cursor: ['invalid', () => vault.list({}, { kind: 'cursor', size: 50 }, reveal())],
    search: [
      'invalid',
      () => vault.list({ query: 'metadata.of:all' }, { kind: 'cursor', size: 50 }, reveal()),
    ],
  }
  for (const [name, [code, call]] of Object.entries(calls)) {
    const error = await failure(call())
    t.equal(error.code, code, name)
    if (code === 'invalid') t.match(error.errors, { size: [/smaller/] }, name)
    t.match(`${error.message} ${JSON.stringify(error.errors)}`, /100000/, name)
  }
  t.equal(reads, 0)
  t.same(records, [])
  t.equal(
    (await failure(vault.use(ids, as(['token:read'])))).code,
    'forbidden',
    'their sizes are not disclosed',
  )
  const few = ids.slice(0, 18)
  t.equal((await vault.use(few, reveal())).size, 18)
  t.equal((await vault.list({}, { kind: 'offset', page: 1, size: 18 }, reveal())).data.length, 18)
})

t.test('tokens are read a few at a time', async (t) => {
  const { vault, store, create, reveal } = await openTestVault(t)
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await create({ data: LARGEST.slice(0, MIB / 2) })).id)
  const read = store.tokens.read.bind(store.tokens)
  const batches: number[] = []
  Object.assign(store.tokens, {
    read: (...args: Parameters<typeof read>) => {
      batches.push(args[1].length)
      return read(...args)
    },
  })
  t.equal((await vault.use(ids, reveal())).size, 20)
  t.ok(Math.max(...batches) <= 8, 'half a MiB each, 4 MiB at once')
  t.equal(
    batches.reduce((a, b) => a + b),
    20,
  )
})

t.test('duplicates that are found repeatedly are summed, too', async (t) => {
  const { vault, create, reveal } = await openTestVault(t)
  const fingerprint_expression = "{{ 'one' }}"
  await create({ data: LARGEST, fingerprint_expression })
  const again = { data: 1, fingerprint_expression, deduplicate_token: true }
  const inputs = Array.from({ length: 40 }, () => again)
  t.equal((await failure(vault.create(inputs, reveal()))).code, 'too_large')
  t.equal((await vault.create(inputs.slice(0, 20), reveal())).length, 20)
})

t.test('open plaintext is shared among tenants, until responses are sent', async (t) => {
  const { vault, addTenant, reveal } = await openTestVault(t, { limits: { held: 8 * MIB, opened: 4 * MIB } })
  const tenants: { readonly ids: readonly string[]; readonly tenantId: string }[] = []
  for (let i = 0; i < 8; i++) {
    const tenantId = await addTenant()
    const tokens = await vault.create(
      [{ data: LARGEST }, { data: LARGEST }, { data: LARGEST }],
      reveal(tenantId),
    )
    const [small] = await vault.create([{ data: 'x'.repeat(1_000) }], reveal(tenantId))
    tenants.push({ tenantId, ids: [...tokens.map(({ id }) => id), String(small?.id)] })
  }
  const held: { release(): void }[] = []
  const contextOf = (tenantId: string) => ({
    ...reveal(tenantId),
    hold: (share: { release(): void }) => held.push(share),
  })
  let opened = 0
  const rejected: string[] = []
  const large: Record<string, (ids: readonly string[], tenantId: string) => Promise<unknown>> = {
    use: (ids, tenantId) => vault.use(ids, contextOf(tenantId)),
    list: (_ids, tenantId) => vault.list({}, { kind: 'cursor', size: 3 }, contextOf(tenantId)),
    get: (ids, tenantId) => vault.get(ids[0] as string, contextOf(tenantId)),
    detokenize: (ids, tenantId) => vault.detokenize([`{{ ${ids[1]} }}`], contextOf(tenantId)),
  }
  for (const [name, call] of Object.entries(large))
    for (const { ids, tenantId } of tenants)
      try {
        await call(ids.slice(0, 3), tenantId)
        opened += name === 'use' ? 3 * MIB : MIB
      } catch (error) {
        t.match(error, { code: 'rate_limited', retryAfter: 1 })
        rejected.push(name)
      }
  t.ok(opened <= 8 * MIB, `${opened} bytes`)
  t.ok(opened >= 3 * MIB)
  t.same(new Set(rejected), new Set(Object.keys(large)))
  for (let i = 0; i < 3; i++) {
    const { ids, tenantId } = tenants[7 - i] as (typeof tenants)[number]
    t.ok(await vault.get(String(ids[3]), contextOf(tenantId)), 'small ones go on')
  }
  for (const share of held) share.release()
  for (const { ids, tenantId } of tenants) t.ok(await vault.use(ids, reveal(tenantId)), 'one after the other')
})

t.test('new tokens are held like open ones, until they are stored', async (t) => {
  const { vault, store, addTenant, reveal } = await openTestVault(t, { limits: { held: 8 * MIB } })
  const strings = Array.from({ length: 1_000 }, (_, i) => `value ${i}`)
  const large = [{ data: LARGEST }]
  const calls: Record<string, (tenantId: string) => Promise<unknown>> = {
    tokenize: (tenantId) => vault.tokenize(strings, reveal(tenantId)),
    create: (tenantId) => vault.create(large, reveal(tenantId)),
  }
  for (const [name, call] of Object.entries(calls)) {
    const tenantId = await addTenant()
    const real = store.tokens.create
    const { promise: allHere, resolve: open } = Promise.withResolvers<void>()
    let drafts = 0
    let here = 0
    const arrive = () => {
      if (++here === 20) open()
    }
    Object.assign(store.tokens, {
      create: async (...args: Parameters<typeof real>) => {
        drafts += args[0].length
        arrive()
        await allHere
        return real.apply(store.tokens, args)
      },
    })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        call(tenantId).catch((error: unknown) => {
          arrive()
          throw error
        }),
      ),
    )
    const rejected = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    t.ok(rejected.length >= 10 && rejected.length < 20, `${name}: ${rejected.length} of 20`)
    for (const error of rejected) t.match(error, { code: 'rate_limited', retryAfter: 1 })
    t.equal(drafts, (20 - rejected.length) * (name === 'create' ? 1 : 1_000), 'no part is stored')
    Object.assign(store.tokens, { create: real })
    for (let i = 0; i < 6; i++) await t.resolves(call(tenantId), 'released')
  }
})
