import t from 'tap'
import { createCodeScope } from '../../src/egress/code-scope.ts'
import type {
  AccessRule,
  DestinationList,
  EgressLimits,
  TokenFilter,
  TokenPermission,
  UseContext,
} from '../../src/sdk/index.ts'
import { serializeToken } from '../../src/vault/serialize-token.ts'
import { ALL, CARD, failure, MASKED_CARD, openTestVault, rule, type TestVault } from './kit.ts'

const STRIPE: DestinationList = [{ host: 'api.stripe.test', ports: [443] }]
const TO = { host: 'api.stripe.test', port: 443, method: 'POST', path: '/v1/charges' }
const EVIL = { ...TO, host: 'evil.test' }

const USE: readonly TokenPermission[] = ['token:use']

/** The context with what its grants, and the request, have besides. */
const to = (
  context: UseContext,
  destination: UseContext['destination'],
  more: Partial<UseContext> = {},
  destinations?: DestinationList,
): UseContext => ({
  ...context,
  caller: {
    ...context.caller,
    grants: { ...context.caller.grants, ...(destinations ? { destinations: [destinations] } : {}) },
  },
  destination,
  surfacesOf: () => ['body'],
  ...more,
})

const ruleTo = (destinations: DestinationList, more: Partial<AccessRule> = {}): AccessRule => ({
  ...rule('/', 'reveal', USE),
  destinations,
  ...more,
})

const bound = (vault: TestVault, more: object = {}) =>
  vault.create({ type: 'card', data: CARD, destinations: STRIPE, ...more })

t.test(
  'a use must satisfy the lists of the token, of the deciding rule and of the application',
  async (t) => {
    const testVault = await openTestVault(t)
    const { vault, as, create, records } = testVault
    const free = await create({ type: 'card', data: CARD })
    const card = await bound(testVault)
    const cases: readonly (readonly [string, string, UseContext])[] = [
      ['token', card.id, to(as(USE), EVIL)],
      ['access rule', free.id, to(as([], [ruleTo(STRIPE)]), EVIL)],
      ['application', free.id, to(as(USE), EVIL, {}, STRIPE)],
    ]
    for (const [name, id, context] of cases) {
      records.splice(0)
      const error = await failure(vault.use([id], context))
      t.match(error, { code: 'destination_not_allowed', status: 403 }, name)
      t.ok(error.message.includes(`"${id}"`) && error.message.includes('"evil.test"'), error.message)
      t.ok(error.message.includes(name), error.message)
      t.match(records, [{ entity_id: id, operation: 'use', message: 'Card use denied' }])
      const allowed = await vault.use([id], { ...context, destination: TO })
      t.same(allowed.get(id)?.data, CARD)
    }
    const both = to(as([], [ruleTo([...STRIPE, { host: 'evil.test', ports: [443] }])]), EVIL)
    t.equal((await failure(vault.use([card.id], both))).code, 'destination_not_allowed', 'each of them')
    t.same((await vault.use([free.id], both)).get(free.id)?.data, CARD)
  },
)

t.test('the destinations of the deciding rule count, not of one before or after it', async (t) => {
  const { vault, as, create } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const rules = [
    ruleTo([{ host: 'other.test', ports: [443] }], { container: '/other/', priority: 1 }),
    ruleTo(STRIPE, { priority: 2 }),
    rule('/', 'reveal', USE, 3),
  ]
  t.equal((await failure(vault.use([id], to(as([], rules), EVIL)))).code, 'destination_not_allowed')
  t.equal((await vault.use([id], to(as([], rules), TO))).size, 1)
  const first = [{ ...rules[2], priority: 1 } as AccessRule, ...rules.slice(1, 2)]
  t.equal((await vault.use([id], to(as([], first), EVIL))).size, 1)
})

t.test('one denied token fails the call, before anything is decrypted', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, create, keys, store } = testVault
  const free = await create({ type: 'card', data: CARD })
  const card = await bound(testVault)
  const many = await Promise.all(Array.from({ length: 20 }, () => create({ data: 1 })))
  const tenantKeys = keys.tenant
  let opened = 0
  const counting = (ring: Awaited<ReturnType<typeof tenantKeys>>) => ({
    ...ring,
    open: (...args: Parameters<typeof ring.open>) => {
      opened++
      return ring.open(...args)
    },
  })
  ;(keys as { tenant: unknown }).tenant = async (...args: Parameters<typeof tenantKeys>) =>
    counting(await tenantKeys(...args))
  t.teardown(() => {
    ;(keys as { tenant: unknown }).tenant = tenantKeys
  })
  const few = [free.id, card.id]
  for (const ids of [few, [...many.map(({ id }) => id), ...few]]) {
    t.equal((await failure(vault.use(ids, to(as(), EVIL)))).code, 'destination_not_allowed')
    t.equal(opened, 0, `of ${ids.length}`)
  }
  let reads = 0
  const { read } = store.tokens
  store.tokens.read = (...args) => {
    reads++
    return read(...args)
  }
  t.equal((await vault.use(few, to(as(), TO))).size, 2)
  t.equal(opened, 4, 'card data and its cvc')
  t.equal(reads, 1, 'one batched read')
})

t.test('a token is opaque where the grant is limited, or the value is for proxies only', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, create } = testVault
  const free = (await create({ type: 'card', data: CARD })).id
  const own = (await bound(testVault)).id
  const secret = (await create({ type: 'card', data: CARD, egress_only: true })).id
  for (const [name, id, context, expected] of [
    ['a plain grant', free, to(as(USE), TO), undefined],
    ['a list of the token, which the caller may widen', own, to(as(USE), TO), undefined],
    ['a list of the rule', free, to(as([], [ruleTo(STRIPE)]), TO), true],
    ['a list of the application', free, to(as(USE), TO, {}, STRIPE), true],
    ['egress_only', secret, to(as(USE), TO), true],
    ['a sender without a key', free, to(as(USE), TO, { isAnonymous: true }), true],
  ] as const) {
    t.equal((await vault.use([id], context)).get(id)?.isOpaque, expected, name)
    const [preview] = await vault.preview([id], context)
    t.match(preview, { kind: 'used' })
    if (preview?.kind === 'used') t.equal(preview.token.isOpaque, expected, `${name}, in a dry run`)
  }
})

t.test('each surface that holds the value must be allowed', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as } = testVault
  const { id } = await bound(testVault, {
    destinations: [{ ...STRIPE[0], surfaces: ['header:authorization'] }],
  })
  const on = (surfacesOf: UseContext['surfacesOf']) => vault.use([id], to(as(), TO, { surfacesOf }))
  t.equal((await on(() => ['header:authorization'])).size, 1)
  const code = createCodeScope(TO)
  const header = { code, surfacesOf: () => ['header:authorization'] as const }
  t.equal((await vault.use([id], to(as(), TO, header))).size, 1, 'a transform gets values of the body only')
  t.notOk(code.isLimited)
  const body = await bound(testVault, { destinations: [{ ...STRIPE[0], surfaces: ['body'] }] })
  t.equal((await vault.use([body.id], to(as(), TO))).size, 1)
  const copied = vault.use([body.id], to(as(), TO, { copies: ['header:x-copy'] }))
  t.equal((await failure(copied)).code, 'destination_not_allowed', 'a header that reads the body holds it')
  for (const surfaces of [
    () => ['body'] as const,
    () => ['body', 'header:authorization'] as const,
    undefined,
  ])
    t.equal((await failure(on(surfaces))).code, 'destination_not_allowed')
})

t.test('no list is satisfied without a destination, as in reactors', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, create } = testVault
  const free = await create({ type: 'card', data: CARD })
  const card = await bound(testVault)
  const react = (id: string, context: UseContext) => vault.detokenize([`{{ ${id} }}`], context, 'token:use')
  for (const [id, context] of [
    [card.id, as()],
    [free.id, as([], [ruleTo(STRIPE)])],
    [free.id, to(as(), undefined, {}, STRIPE)],
  ] as const)
    t.equal((await failure(react(id, context))).code, 'destination_not_allowed')
  t.same(await react(free.id, as()), [CARD])
})

t.test('reads follow the rules whatever the destinations are', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, reveal } = testVault
  const { id } = await bound(testVault)
  const limited = to(reveal(), undefined, {}, STRIPE)
  for (const context of [reveal(), limited]) {
    t.same((await vault.get(id, context)).data, CARD)
    t.same((await vault.get(id, context)).destinations, STRIPE)
    t.same(await vault.detokenize([`{{ ${id} }}`], context), [CARD])
  }
  t.same((await vault.get(id, as(['token:read']))).data, MASKED_CARD)
})

t.test(
  'a token is given to code of a proxy at an allowed destination, which may send it nowhere else',
  async (t) => {
    const testVault = await openTestVault(t)
    const { vault, as, reveal, create } = testVault
    const { id } = await bound(testVault)
    const other = await create({ data: 'free' })
    const scope = createCodeScope(TO)
    const reading = { ...reveal(), code: scope }
    await vault.get(other.id, reading)
    scope.check(EVIL)
    t.same((await vault.get(id, reading)).data, CARD)
    t.throws(() => scope.check(EVIL), { code: 'destination_not_allowed' })
    scope.check(TO)
    const second = await create({ data: 1, destinations: [{ ...STRIPE[0], path: '/v1/**' }] })
    t.same(await vault.detokenize([`{{ ${second.id} }}`], reading), [1])
    scope.check(TO)
    t.throws(
      () => scope.check({ ...TO, path: '/v2' }),
      { code: 'destination_not_allowed' },
      'the intersection',
    )

    for (const code of [createCodeScope(EVIL), createCodeScope()]) {
      const elsewhere = { ...reveal(), code }
      t.equal((await failure(vault.get(id, elsewhere))).code, 'destination_not_allowed')
      t.equal((await failure(vault.detokenize([`{{ ${id} }}`], elsewhere))).code, 'destination_not_allowed')
      const page = { kind: 'offset', page: 1, size: 10 } as const
      const { data } = await vault.list({ ids: [id, other.id] }, page, elsewhere)
      t.same(
        data.map((token) => [token.id, token.data]).sort(),
        [
          [id, undefined],
          [other.id, 'free'],
        ].sort(),
      )
      t.notOk('data' in (await vault.update(id, { metadata: { a: 'b' } }, elsewhere)))
      t.notOk(code.isLimited)
    }
    const transformed = createCodeScope(TO)
    await vault.use([other.id], to(as([], [ruleTo(STRIPE)]), TO, { code: transformed }))
    t.throws(() => transformed.check(EVIL), { code: 'destination_not_allowed' }, 'the list of a rule, too')
    const surfaces = await bound(testVault, { destinations: [{ ...STRIPE[0], surfaces: ['body'] }] })
    const toCode = vault.use([surfaces.id], to(as(), TO, { code: createCodeScope(TO) }))
    t.equal((await failure(toCode)).code, 'destination_not_allowed', 'code may put a value anywhere')
  },
)

t.test('what code is given is noted, as it is and in no other form', async (t) => {
  const { vault, as, reveal, create } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const hidden = await create({ type: 'card', data: CARD, egress_only: true })
  const given: unknown[] = []
  const code = createCodeScope(TO, (token) => given.push(token))
  const page = { kind: 'offset', page: 1, size: 10 } as const
  for (const read of [
    () => vault.get(id, { ...reveal(), code }),
    () => vault.list({ ids: [id] }, page, { ...reveal(), code }),
    () => vault.detokenize([`{{ ${id} | json: '$.number' | last4 }}`], { ...reveal(), code }),
    () => vault.update(id, { metadata: { a: 'b' } }, { ...reveal(), code }),
  ]) {
    await read()
    t.same(given.splice(0), [{ id, data: CARD }])
  }
  await vault.get(id, { ...as(['token:read']), code })
  await vault.get(hidden.id, { ...reveal(), code })
  t.same(given, [], 'a mask is no value')
})

t.test(
  '"egress_only": readers, reactors and code get a mask at most, proxies without transform the value',
  async (t) => {
    const testVault = await openTestVault(t)
    const { vault, as, reveal, create } = testVault
    const { id } = await create({ type: 'card', data: CARD, egress_only: true })
    t.match(await vault.get(id, reveal()), { data: MASKED_CARD, egress_only: true })
    t.same((await vault.get(id, as(['token:read']))).data, MASKED_CARD)
    t.notOk('data' in (await vault.get(id, as([], [rule('/', 'redact', ALL)]))))
    t.same(await vault.detokenize([`{{ ${id} }}`], reveal()), [MASKED_CARD])
    t.same(await vault.detokenize([`{{ ${id} }}`], reveal(), 'token:use'), [MASKED_CARD], 'a reactor')
    t.same((await vault.get(id, { ...reveal(), code: createCodeScope(TO) })).data, MASKED_CARD)
    const page = { kind: 'offset', page: 1, size: 10 } as const
    t.same((await vault.list({ ids: [id] }, page, reveal())).data[0]?.data, MASKED_CARD)
    t.same((await vault.update(id, { metadata: { a: 'b' } }, reveal())).data, MASKED_CARD)
    t.same((await create({ type: 'card', data: CARD, egress_only: true }, reveal())).data, MASKED_CARD)

    t.same((await vault.use([id], to(as(USE), EVIL))).get(id)?.data, CARD, '"anywhere that section 7 allows"')
    const transformed = vault.use([id], to(as(USE), EVIL, { code: createCodeScope(EVIL) }))
    t.match(await failure(transformed), { code: 'egress_only', status: 403 })
  },
)

t.test('a duplicate returns the existing token, and discloses no more of it', async (t) => {
  const testVault = await openTestVault(t)
  const { reveal, create } = testVault
  const definition = { type: 'card', data: { ...CARD, cvc: '999' }, deduplicate_token: true }
  const first = await create({ ...definition, data: CARD, destinations: STRIPE }, reveal())
  for (const more of [{}, { destinations: [{ host: 'evil.test' }] }, { egress_only: false }]) {
    const elsewhere = await create({ ...definition, ...more }, { ...reveal(), code: createCodeScope(EVIL) })
    t.match(elsewhere, { id: first.id, destinations: STRIPE })
    t.notOk('data' in elsewhere)
  }
})

const GUESS = { kind: 'offset', page: 1, size: 10 } as const

t.test('"egress_only": no search, fingerprint or duplicate confirms a guess of the value', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, reveal, create } = testVault
  const asks = {
    data: 'guess',
    search_indexes: ['{{ data }}'],
    fingerprint_expression: '{{ data }}',
    deduplicate_token: true,
  }
  const only = { ...asks, egress_only: true }
  const hits = async (filter: TokenFilter) =>
    (await vault.list(filter, GUESS, reveal(), 'token:search')).data.map(({ id }) => id)
  const first = await create(only, reveal())
  t.notOk('fingerprint' in first)
  t.not((await create(only, reveal())).id, first.id, 'of another such token')
  const free = await create(asks, reveal())
  t.not(free.id, first.id)
  const fingerprint = free.fingerprint as string
  t.ok(fingerprint)
  t.same(await hits({ query: 'data:guess' }), [free.id])
  t.same(await hits({ fingerprints: [fingerprint] }), [free.id])
  t.match(await create(asks, reveal()), { id: free.id }, 'the one that is readable')
  const other = await create({ ...only, deduplicate_token: false, data: 'other' }, reveal())
  t.not((await vault.update(free.id, { data: 'other' }, reveal())).id, other.id, 'an update meets none')
  t.notOk('fingerprint' in (await vault.get(first.id, as(ALL))), 'whatever the permission')
})

t.test('"egress_only": terms and fingerprint go when it is set, and come when it is removed', async (t) => {
  const { vault, as, reveal, create } = await openTestVault(t)
  const { id, fingerprint } = await create(
    { data: 'guess', search_indexes: ['{{ data }}'], fingerprint_expression: '{{ data }}' },
    reveal(),
  )
  const check = async (has: boolean) => {
    t.equal((await vault.get(id, reveal())).fingerprint, has ? fingerprint : undefined)
    for (const filter of [{ query: 'data:guess' }, { fingerprints: [fingerprint as string] }]) {
      const { data } = await vault.list(filter, GUESS, reveal(), 'token:search')
      t.equal(data.length, has ? 1 : 0, JSON.stringify(filter))
    }
  }
  await check(true)
  t.notOk('fingerprint' in (await vault.update(id, { egress_only: true }, as(['token:update']))))
  await check(false)
  await vault.update(id, { metadata: { a: 'b' } }, reveal())
  await check(false)
  t.notOk('fingerprint' in (await vault.update(id, { deduplicate_token: true }, reveal())))
  await check(false)
  t.equal((await vault.update(id, { egress_only: false }, reveal())).fingerprint, fingerprint)
  await check(true)
})

t.test('a fingerprint that an "egress_only" row holds is not shown', async (t) => {
  const { reveal } = await openTestVault(t)
  const { caller } = reveal()
  const row = {
    id: 'a',
    tenant_id: caller.tenantId,
    type: 'token',
    container: '/',
    metadata: null,
    fingerprint: 'print',
    expires_at: null,
    created_by: caller.actorId,
    created_at: 0,
    modified_by: null,
    modified_at: null,
  }
  const shown = (egress: EgressLimits | null) =>
    serializeToken(
      { types: { get: () => undefined } },
      { ...row, egress },
      { data: 1, ephemeral: new Map() },
      1,
      caller.grants,
    )
  t.equal(shown({ destinations: STRIPE }).fingerprint, 'print')
  t.notOk('fingerprint' in shown({ egress_only: true }))
})

t.test('narrowing requires token:update, widening a grant that reveals', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, reveal, records } = testVault
  const wide = { host: '*.stripe.test', ports: [443, 8443] }
  const updating = as(['token:update', 'token:read', 'token:search'])
  const narrowing: readonly object[] = [
    { destinations: [wide] },
    { destinations: [{ host: 'API.stripe.test', ports: [443] }] },
    { destinations: [{ ...STRIPE[0], methods: ['POST', 'PUT'] }] },
    { destinations: [{ ...STRIPE[0], methods: ['POST'], path: '/v1/**' }] },
    { egress_only: true },
    { destinations: [{ ...STRIPE[0], methods: ['POST'], path: '/v1/**', surfaces: ['body'] }] },
    { destinations: [{ ...STRIPE[0], methods: ['POST'], path: '/v1/charges', surfaces: ['body'] }] },
    { metadata: { a: 'b' } },
  ]
  const { id } = await testVault.create({ type: 'card', data: CARD })
  for (const patch of narrowing) await vault.update(id, patch as never, updating)
  const narrow = [
    { host: 'api.stripe.test', ports: [443], methods: ['POST'], path: '/v1/charges', surfaces: ['body'] },
  ]
  t.match(await vault.get(id, reveal()), { destinations: narrow, egress_only: true })

  const widening: readonly object[] = [
    { destinations: null },
    { egress_only: false },
    { egress_only: null },
    { destinations: [...narrow, { host: 'evil.test' }] },
    { destinations: [{ ...narrow[0], host: '*.stripe.test' }] },
    { destinations: [{ ...narrow[0], ports: [443, 8443] }] },
    { destinations: [{ ...narrow[0], methods: ['POST', 'GET'] }] },
    { destinations: [{ ...narrow[0], methods: null }] },
    { destinations: [{ ...narrow[0], path: '/v1/*' }] },
    { destinations: [{ ...narrow[0], path: null }] },
    { destinations: [{ ...narrow[0], surfaces: ['body', 'path'] }] },
    { destinations: [{ ...narrow[0], surfaces: null }] },
  ]
  // A use that is limited itself shows the caller nothing.
  const limited = to(as(['token:update', ...USE]), undefined, {}, STRIPE)
  for (const patch of widening)
    for (const context of [updating, limited, as(['token:update'], [ruleTo(STRIPE)])]) {
      records.splice(0)
      t.equal(
        (await failure(vault.update(id, patch as never, context))).code,
        'forbidden',
        JSON.stringify(patch),
      )
      t.match(records, [{ entity_id: id, operation: 'update', message: 'Card update denied' }])
    }
  t.match(await vault.get(id, reveal()), { destinations: narrow, egress_only: true }, 'nothing changed')
  await vault.update(id, { destinations: null, egress_only: false }, as(['token:update', ...USE]))
  const after = await vault.get(id, reveal())
  t.notOk('destinations' in after || 'egress_only' in after)
})

t.test('a grant that is limited itself does not let its holder see data by a mask', async (t) => {
  const { vault, as, create } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const limited = to(as(['token:update', 'token:read', ...USE]), undefined, {}, STRIPE)
  t.equal((await failure(vault.update(id, { mask: '{{ data.number }}' }, limited))).code, 'forbidden')
  t.notOk('fingerprint' in (await vault.get(id, limited)))
})

t.test('a move does not widen the destinations of its caller', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as } = testVault
  const { id } = await testVault.create({ type: 'card', data: CARD, containers: ['/a/'] })
  const rules = (there?: DestinationList) =>
    as(
      ['token:update'],
      [
        ruleTo(STRIPE, { container: '/a/' }),
        { ...rule('/b/', 'reveal', USE, 2), ...(there ? { destinations: there } : {}) },
      ],
    )
  const move = (context: UseContext) => vault.update(id, { containers: ['/b/'] }, context)
  t.equal((await failure(move(rules()))).code, 'forbidden')
  const nowhere = as(['token:update'], [ruleTo(STRIPE, { container: '/a/' })])
  await vault.update(
    (await testVault.create({ data: 1, containers: ['/a/'] })).id,
    { containers: ['/b/'] },
    nowhere,
  )
  t.equal((await failure(move(rules([{ host: 'evil.test', ports: [443] }])))).code, 'forbidden')
  await move(rules([{ ...STRIPE[0], path: '/v1/**' } as DestinationList[number]]))
})

t.test('a move of a token that its caller may only send shows it no more', async (t) => {
  const { vault, as, create } = await openTestVault(t)
  const here = (transform: AccessRule['transform']) =>
    rule('/a/', transform, ['token:update', 'token:read'], 2)
  const there = rule('/b/', 'reveal', ['token:update', 'token:read'], 3)
  const sending = ruleTo(STRIPE, { container: '/a/' })
  const callers: readonly UseContext[] = [
    as([], [sending, here('mask'), there]),
    as([], [sending, here('redact'), { ...there, transform: 'mask' }]),
    to(as(USE, [here('mask'), there]), undefined, {}, STRIPE),
    as([], [here('mask'), { ...there, transform: 'mask' }, { ...sending, container: '/b/' }]),
  ]
  for (const [index, context] of callers.entries()) {
    const { id } = await create({ type: 'card', data: CARD, containers: ['/a/'] })
    const moved = vault.update(id, { containers: ['/b/'] }, context)
    t.equal((await failure(moved)).code, 'forbidden', `caller ${index}`)
  }
  const { id } = await create({ type: 'card', data: CARD, containers: ['/a/'] })
  const equal = as([], [{ ...sending, container: '/' }, here('mask'), { ...there, transform: 'mask' }])
  t.match(await vault.update(id, { containers: ['/b/'] }, equal), { data: MASKED_CARD })
})

t.test('a row whose limits were edited does not open', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, reveal, store } = testVault
  const card = await bound(testVault, { egress_only: true })
  const { read } = store.tokens
  const wide = { destinations: [...STRIPE, { host: 'evil.test', ports: [443] }] }
  for (const egress of [null, wide, { ...wide, egress_only: true }, { destinations: STRIPE }] as const) {
    store.tokens.read = async (...args) => (await read(...args)).map((row) => ({ ...row, egress }))
    for (const run of [() => vault.use([card.id], to(as(), TO)), () => vault.get(card.id, reveal())])
      t.equal((await failure(run())).code, 'internal', JSON.stringify(egress))
  }
  const free = await testVault.create({ data: 1 })
  store.tokens.read = async (...args) =>
    (await read(...args)).map((row) => ({ ...row, egress: { destinations: STRIPE } }))
  t.equal((await failure(vault.get(free.id, reveal()))).code, 'internal', 'narrower neither')
})

t.test('a preview reports where each token may be sent, and the error of the call', async (t) => {
  const testVault = await openTestVault(t)
  const { vault, as, create } = testVault
  const free = await create({ type: 'card', data: CARD })
  const card = await bound(testVault)
  const only = await create({ data: 1, egress_only: true })
  const preview = async (id: string, context: UseContext) => (await vault.preview([id], context))[0]
  t.match(await preview(card.id, to(as(), EVIL)), {
    destination: { host: 'evil.test', allowed: false, by: 'token' },
    rejection: { code: 'destination_not_allowed' },
  })
  t.match(await preview(free.id, to(as([], [ruleTo(STRIPE)]), EVIL)), { destination: { by: 'rule' } })
  t.match(await preview(free.id, to(as(), EVIL, {}, STRIPE)), { destination: { by: 'application' } })
  const allowed = await preview(card.id, to(as(), TO))
  t.match(allowed, { destination: { host: TO.host, allowed: true, by: null } })
  t.notOk(allowed && 'rejection' in allowed)
  t.match(await preview(only.id, to(as(), EVIL, { code: createCodeScope(EVIL) })), {
    destination: { allowed: true, by: null },
    rejection: { code: 'egress_only' },
  })
})
