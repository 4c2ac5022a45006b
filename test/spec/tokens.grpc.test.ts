import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const every = ['create', 'read', 'update', 'delete', 'search'].map((verb) => `token:${verb}`)
const { key } = await api.application('private', every)
const reader = await api.revealing()
/** Its plain token:use shows it all data. */
const { key: seeing } = await api.application('private', [...every, 'token:use'])
const create = (body: object, as = key) => api.call('POST', '/tokens', { key: as, body })
const patch = (id: string, body: object, headers = {}) =>
  api.call('PATCH', `/tokens/${encodeURIComponent(id)}`, { key, body, headers })
const get = (id: string, as = key) => api.call('GET', `/tokens/${encodeURIComponent(id)}`, { key: as })

t.test('"POST /tokens … 201 token"', async (t) => {
  const { status, body } = await create({ data: 'x', metadata: { a: '1' } })
  t.equal(status, 201)
  t.match(body, { type: 'token', containers: ['/general/high/'], metadata: { a: '1' } })
  t.notOk('data' in body || 'expires_at' in body)
  t.strictSame((await get(body.id, reader)).body, { ...body, data: 'x' })
})

t.test('null members are absent', async (t) => {
  const nulls = Object.fromEntries(
    [
      'id',
      'type',
      'mask',
      'metadata',
      'search_indexes',
      'fingerprint_expression',
      'containers',
      'deduplicate_token',
      'expires_at',
    ].map((name) => [name, null]),
  )
  t.equal((await create({ data: 'x', ...nulls })).status, 201)
})

t.test(
  '"a chosen [id] has 3–400 characters without …; duplicate → 409. Path ids are percent-decoded once."',
  async (t) => {
    const id = "order 1:2~('é')"
    t.equal((await create({ id, data: 'x' })).status, 201)
    t.equal((await get(id)).body.id, id)
    t.equal((await create({ id, data: 'x' })).status, 409)
    for (const bad of ['ab', 'a'.repeat(401), ...'#/\\+?[]|&=%<>{}^'].map((part) =>
      part.length === 1 ? `id${part}id` : part,
    ))
      t.equal((await create({ id: bad, data: 'x' })).status, 400, bad)
  },
)

t.test('"an alias expression, with UUID as fallback when no free alias is found"', async (t) => {
  const created = await create({ id: '{{ data | alias_preserve_format: 2, 2 }}', data: 'AB-1234-CD' })
  t.equal(created.status, 201)
  t.match(created.body.id, /^AB-\d{4}-CD$/)
  const ids = new Set<string>()
  for (let i = 0; i < 12; i++) {
    const { status, body } = await create({ id: '{{ data | alias_preserve_format: 3, 0 }}', data: 'ab-1' })
    t.equal(status, 201)
    ids.add(body.id)
  }
  t.equal(ids.size, 12, 'there are only ten aliases, and no token is lost')
  t.ok([...ids].some((id) => id.length === 36))
  for (const [data, id] of [
    ['abc', '{{ data }}'],
    ['x', '{{ data | alias_preserve_format: 1, 1 }}'],
  ] as const) {
    const { status, body } = await create({ id, data })
    t.equal(status, 201)
    t.equal(body.id.length, 36, 'what an expression may not show, or is no id, gives way to a UUID')
  }
})

t.test('"PATCH merges data, mask, metadata by RFC 7386"', async (t) => {
  const { body } = await create({
    type: 'card',
    data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2030 },
    metadata: { keep: '1', drop: '2' },
  })
  for (const headers of [{ 'content-type': 'application/merge-patch+json' }, {}]) {
    const response = await patch(
      body.id,
      { data: { expiration_year: 2031 }, metadata: { drop: null, add: '3' } },
      headers,
    )
    t.equal(response.status, 200, response.text)
    t.same(response.body.metadata, { keep: '1', add: '3' })
    t.same(response.body.data, { number: 'XXXXXXXXXXXX4242', expiration_month: 1, expiration_year: 2031 })
    t.ok(response.body.modified_at && response.body.modified_by)
  }
  t.same((await get(body.id, reader)).body.data, {
    number: '4242424242424242',
    expiration_month: 1,
    expiration_year: 2031,
  })
  const bad = await patch(body.id, { data: { expiration_month: 13 } })
  t.equal(bad.status, 400, '"validation runs on the merged token"')
})

t.test('a malformed patch is 400 whatever its token, and nothing is recorded', async (t) => {
  const foreign = await create({ data: 'x' })
  const { key: other } = await api.application(
    'private',
    [],
    [
      {
        description: 'other',
        priority: 1,
        container: '/other/',
        transform: 'mask',
        permissions: ['token:update'],
      },
    ],
  )
  const send = (id: string, body: object) => api.call('PATCH', `/tokens/${id}`, { key: other, body })
  const wrong = { containers: ['no path'] }
  for (const id of [foreign.body.id, 'none'])
    t.match(await send(id, wrong), { status: 400, body: { errors: { 'containers[0]': Array } } })
  const records = async () => {
    const { body } = await api.call('GET', `/logs?entity_id=${foreign.body.id}`, { key: api.management })
    return body.data.filter(({ operation }: { operation: string }) => operation === 'update')
  }
  t.same(await records(), [])
  t.equal((await send(foreign.body.id, { containers: ['/other/'] })).status, 403)
  t.ok((await records()).length > 0, 'a denial is recorded')
})

t.test('"type and id cannot change"', async (t) => {
  const { body } = await create({ data: 'x' })
  const response = await patch(body.id, { id: 'another', type: 'card', metadata: { a: '1' } })
  t.equal(response.body.id, body.id)
  t.equal(response.body.type, 'token')
})

t.test('"Deduplication: … the existing token is returned (201)"', async (t) => {
  const card = { type: 'card', data: { number: '5555555555554444' }, deduplicate_token: true }
  const first = await create(card, seeing)
  const second = await create(card, seeing)
  t.equal(second.status, 201)
  t.equal(second.body.id, first.body.id)
  t.ok(first.body.fingerprint)
  const racing = await Promise.all(
    Array.from({ length: 16 }, () => create({ ...card, data: { number: '4000056655665556' } }, seeing)),
  )
  t.equal(new Set(racing.map(({ body }) => body.id)).size, 1, '"Two racing creates leave one token."')
  const page = await api.call('GET', `/v2/tokens?fingerprint=${first.body.fingerprint}`, { key: seeing })
  t.strictSame(
    page.body.data.map(({ id }: { id: string }) => id),
    [first.body.id],
  )
})

t.test('no oracle: fingerprints and duplicates are for callers who see the data', async (t) => {
  const data = { number: '2223003122003222' }
  const card = { type: 'card', data, deduplicate_token: true }
  const first = (await create(card, seeing)).body
  t.ok(first.fingerprint)
  const see = ['token:create', 'token:read', 'token:update', 'token:search']
  const { key: masked } = await api.application('private', see)
  const { key: browser } = await api.application('public', ['token:create'])
  const { key: elsewhere } = await api.application(
    'private',
    ['token:create', 'token:read', 'token:search', 'token:update'],
    [{ description: 'other', priority: 1, container: '/lab/', transform: 'reveal', permissions: see }],
  )
  const created = []
  for (const caller of [masked, browser, elsewhere]) {
    const { status, body } = await api.call('POST', '/tokens', { key: caller, body: card })
    t.equal(status, 201)
    t.notOk('fingerprint' in body)
    const listed = await api.call('POST', '/tokenize', { key: caller, body: [card, card] })
    t.notOk(listed.body.some((token: object) => 'fingerprint' in token))
    created.push(body.id, ...listed.body.map(({ id }: { id: string }) => id))
  }
  t.equal(new Set([first.id, ...created]).size, 10, 'each guess has a token of its own')
  t.equal((await api.call('POST', '/tokens', { key: elsewhere, body: card })).status, 201)
  const lab = { ...card, containers: ['/lab/'] }
  const twice = [1, 2].map(() => api.call('POST', '/tokens', { key: elsewhere, body: lab }))
  t.equal(new Set((await Promise.all(twice)).map(({ body }) => body.id)).size, 1, 'where it sees, it meets')

  for (const caller of [masked, elsewhere]) {
    const shown = [
      await api.call('GET', `/tokens/${first.id}`, { key: caller }),
      await api.call('PATCH', `/tokens/${first.id}`, { key: caller, body: { metadata: { a: 'b' } } }),
    ]
    for (const { status, body } of shown) {
      t.equal(status, 200)
      t.notOk('fingerprint' in body)
    }
    const list = await api.call('GET', `/v2/tokens?type=card`, { key: caller })
    const own = list.body.data.filter(({ containers }: { containers: string[] }) => containers[0] !== '/lab/')
    t.ok(own.length > 0)
    t.notOk(own.some((token: object) => 'fingerprint' in token))
    for (const query of [`fingerprint:${first.fingerprint}`, 'type:card -fingerprint:[a TO z]'])
      for (const path of ['/tokens/search', '/v2/tokens/search'])
        t.equal((await api.call('POST', path, { key: caller, body: { query } })).status, 403, query)
    const filtered = await api.call('GET', `/v2/tokens?fingerprint=${first.fingerprint}`, { key: caller })
    t.equal(filtered.status, 403)
  }
  const page = await api.call('POST', '/tokens/search', {
    key: seeing,
    body: { query: `fingerprint:${first.fingerprint}` },
  })
  t.equal(page.body.pagination.total_items, 12, 'a caller who sees data finds all equal tokens')
})

t.test(
  'no oracle: callers who do not see data cannot distinguish an existing value from a missing one',
  async (t) => {
    const [there, missing] = ['4000056655665556', '4000002760003184']
    await create({ type: 'card', data: { number: there }, deduplicate_token: true }, seeing)
    const permissions = ['token:create', 'token:read', 'token:update']
    const { key: guessing } = await api.application('private', permissions)
    const ids: string[] = []
    const traces = async (number: string) => {
      const card = { type: 'card', data: { number }, deduplicate_token: true }
      const once = { headers: { 'svc-idempotency-key': `guess ${number}` } }
      const { body: own } = await create({ type: 'card', data: { number: '5200828282828210' } }, guessing)
      const calls = [
        ['POST', '/tokens', card],
        ['POST', '/tokens', card, once],
        ['POST', '/tokens', card, once],
        ['POST', '/tokenize', [card, { a: card }]],
        ['POST', `/tokens/${own.id}/children`, card],
        ['PATCH', `/tokens/${own.id}`, { data: { number } }],
      ] as const
      const seen: unknown[] = []
      for (const [method, path, body, more] of calls) {
        const response = await api.call(method, path, { key: guessing, body, once: true, ...more })
        const created: string[] = response.text.match(/"id":"[^"]*"/g) ?? []
        if (more === undefined) ids.push(...created)
        const text = response.text
          .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')
          .replaceAll(/\d{4}-\d\d-\d\dT[^"]*/g, 'time')
          .replaceAll(number.slice(-4), 'last')
        const { body: logs } = await api.call('GET', '/logs?size=1', { key: api.management, once: true })
        const { operation, message } = logs.data[0]
        seen.push([response.status, Object.keys(response.headers).sort(), text, operation, message])
      }
      return seen
    }
    t.strictSame(await traces(there), await traces(missing))
    t.equal(new Set(ids).size, ids.length, 'each is a token of its own')
  },
)

t.test(
  'a fingerprint is recomputed, and a duplicate returned by an update, for callers who see the data',
  async (t) => {
    const { key: masked } = await api.application('private', ['token:create', 'token:read', 'token:update'])
    const patch = (id: string, body: object, as = masked) =>
      api.call('PATCH', `/tokens/${id}`, { key: as, body })
    const plain = (await create({ data: 'hidden' })).body
    t.equal((await patch(plain.id, { deduplicate_token: true })).status, 403)
    const first = (await create({ data: 'one', deduplicate_token: true }, seeing)).body
    const second = (await create({ data: 'two', deduplicate_token: true }, seeing)).body
    const guess = await patch(second.id, { data: 'one', deduplicate_token: true })
    t.strictSame([guess.status, guess.body.id], [200, second.id])
    t.notOk('fingerprint' in guess.body)
    t.equal(
      (await get(second.id, seeing)).body.fingerprint,
      first.fingerprint,
      'it follows the data all the same',
    )
    t.equal((await patch(plain.id, { data: 'one', deduplicate_token: true }, seeing)).body.id, first.id)
  },
)

t.test('"values of data searched for without seeing the data": 60 a minute', async (t) => {
  const { key: masked } = await api.application('private', ['token:search'])
  const search = (terms: number, as = masked) =>
    api.call('POST', '/v2/tokens/search', {
      key: as,
      body: { query: Array.from({ length: terms }, (_, i) => `data:${i}`).join(' OR ') },
      once: true,
    })
  t.equal((await search(50)).status, 200)
  const rejected = await search(11)
  t.equal(rejected.status, 429)
  t.equal(rejected.headers['retry-after'], '1')
  t.equal((await search(10)).status, 200, 'rejected calls are not counted')
  t.equal((await search(61)).status, 400)
  const { key: other } = await api.application('private', ['token:search'])
  t.equal((await search(60, other)).status, 200, 'each application for itself')
  const { key: browser } = await api.application('public', ['token:create'])
  const { nonce, session_key } = (await api.call('POST', '/sessions', { key: browser })).body
  const grant = { nonce, permissions: ['token:search'] }
  t.equal((await api.call('POST', '/sessions/authorize', { key: other, body: grant })).status, 200)
  t.equal((await search(1, session_key)).status, 429, 'a session with the application that authorized it')
  for (let call = 0; call < 3; call++) t.equal((await search(100, seeing)).status, 200, 'who sees may search')
  const metadata = { key: masked, body: { query: 'metadata.a:x' }, once: true }
  t.equal((await api.call('POST', '/tokens/search', metadata)).status, 200, 'nothing else is counted')
  api.clock.advance(60_000)
  t.equal((await search(60)).status, 200)
})

t.test(
  '"POST /detokenize (any JSON holding expressions) … same shape; each value disclosed by its rule"',
  async (t) => {
    const card = (await create({ type: 'card', data: { number: '4242424242424242', expiration_month: 5 } }))
      .body.id
    const body = [
      `{{ ${card} | json: '$.number' }}`,
      { month: `{{ ${card} | json: '$.expiration_month' }}` },
      'as is',
      1,
    ]
    const revealed = await api.call('POST', '/detokenize', { key: reader, body })
    t.equal(revealed.status, 200)
    t.strictSame(revealed.body, ['4242424242424242', { month: 5 }, 'as is', 1])
    const masked = await api.call('POST', '/detokenize', { key, body })
    t.strictSame(masked.body[0], 'XXXXXXXXXXXX4242')
    t.match(await api.call('POST', '/detokenize', { key, body: ['{{ unknown }}'] }), {
      status: 400,
      body: { code: 'invalid_expression' },
    })
  },
)

t.test('"GET /v2/tokens (container, type, fingerprint, metadata …)"', async (t) => {
  const { body } = await create({ data: 'x', containers: ['/one/two/'] })
  const page = await api.call('GET', '/v2/tokens?container=/one/two/', { key })
  t.strictSame(
    page.body.data.map(({ id }: { id: string }) => id),
    [body.id],
  )
})

t.test('"Always consistent: a token is findable in the answer after its create."', async (t) => {
  const { body } = await create({ data: 'value 3', search_indexes: ['{{ data }}'] })
  for (const path of ['/tokens/search', '/v2/tokens/search']) {
    const found = await api.call('POST', path, { key, body: { query: 'data:"value 3"', size: 5 } })
    t.match(found, { status: 200, body: { data: [{ id: body.id }] } })
    t.equal(found.body.data.length, 1)
  }
})

t.test(
  '"Indexes of a type hold for tokens … without search_indexes of their own; [] makes none."',
  async (t) => {
    const { key: own } = await api.application('private', ['token:create', 'token:read', 'token:search'])
    const card = { type: 'card', data: { number: '4000000000009995' } }
    const store = async (more: object) =>
      (await api.call('POST', '/tokens', { key: own, body: { ...card, ...more } })).body
    const { id, search_indexes } = await store({})
    t.equal(search_indexes, undefined)
    await store({ search_indexes: [] })
    await store({ egress_only: true })
    const found = await api.call('POST', '/v2/tokens/search', { key: own, body: { query: 'data:9995' } })
    t.same(
      found.body.data.map((token: { id: string }) => token.id),
      [id],
    )
  },
)

t.test('null members of a search are absent', async (t) => {
  for (const [path, page] of [
    ['/tokens/search', { page: null }],
    ['/v2/tokens/search', { start: null }],
  ] as const) {
    const found = await api.call('POST', path, { key, body: { query: null, size: null, ...page } })
    t.match(found, { status: 200, body: { pagination: { page_size: 20 } } }, path)
    t.ok(found.body.data.length > 5)
  }
})

t.test('an invalid search is 400', async (t) => {
  for (const query of ['data:', '(type:card', 'nonsense:x'])
    t.equal((await api.call('POST', '/tokens/search', { key, body: { query } })).status, 400, query)
})

t.test(
  'a move discloses no more than the weaker grant of both containers, and removes no mask',
  async (t) => {
    const rule = (priority: number, container: string, transform: string, permissions: string[]) => ({
      description: 'r',
      priority,
      container,
      transform,
      permissions,
    })
    const ANY = ['token:read', 'token:update', 'token:create', 'token:search']
    const make = async (container: string) =>
      (
        await api.call('POST', '/tokens', {
          key: owner.key,
          body: { type: 'card', data: { number: '4242424242424242' }, containers: [container] },
        })
      ).body.id as string
    const owner = await api.application(
      'private',
      [],
      [rule(1, '/', 'reveal', ['token:create', 'token:read'])],
    )
    const containerOf = async (id: string) =>
      (await api.call('GET', `/tokens/${id}`, { key: owner.key })).body.containers[0]

    const levels = ['redact', 'mask', 'reveal']
    for (const here of levels)
      for (const there of levels) {
        const { key } = await api.application(
          'private',
          [],
          [rule(1, '/here/', here, ANY), rule(2, '/there/', there, ANY)],
        )
        const id = await make('/here/')
        const moved = await api.call('PATCH', `/tokens/${id}`, {
          key,
          body: { containers: ['/there/'] },
          once: true,
        })
        const more = levels.indexOf(there) > levels.indexOf(here)
        const what = `${here} to ${there}`
        t.equal(moved.status, more ? 403 : 200, what)
        t.equal(await containerOf(id), more ? '/here/' : '/there/', what)
        if (more)
          t.equal(
            (await api.call('GET', `/tokens/${id}`, { key })).body.data?.number === '4242424242424242',
            false,
          )
        else {
          const shown = (await api.call('GET', `/tokens/${id}`, { key })).body.data
          t.strictSame(moved.body.data, shown, `${what}: as it is read there`)
        }
      }

    const split = await api.application(
      'private',
      [],
      [
        rule(1, '/here/', 'mask', ['token:update']),
        rule(2, '/there/', 'mask', ['token:update']),
        rule(3, '/there/', 'reveal', ['token:read']),
      ],
    )
    const id = await make('/here/')
    const patch = (body: object, key = split.key) =>
      api.call('PATCH', `/tokens/${id}`, { key, body, once: true })
    t.equal((await patch({ containers: ['/there/'] })).status, 403, 'other permissions count too')

    const masking = await api.application(
      'private',
      [],
      [rule(1, '/here/', 'mask', ANY), rule(2, '/lab/', 'reveal', ANY)],
    )
    const loose = { mask: '{{ data.number }}', containers: ['/lab/'] }
    t.equal((await patch(loose, masking.key)).status, 403)
    const unchanged = await api.call('GET', `/tokens/${id}`, { key: masking.key })
    t.match(unchanged.body, { containers: ['/here/'], data: { number: 'XXXXXXXXXXXX4242' } })
    const { key: user } = await api.application('private', ['token:use', 'token:update', 'token:read'])
    t.match(
      (await patch({ containers: ['/lab/'] }, user)).status,
      200,
      'who may use it sees as much everywhere',
    )
  },
)

t.test('disclosure=mask and =redact lower what a revealing key sees, in every read', async (t) => {
  const permissions = ['token:read', 'token:search']
  const rule = { description: 'reveal', priority: 1, container: '/', transform: 'reveal', permissions }
  const { key: revealing } = await api.application('private', [], [rule])
  const data = 'the value 4242'
  const { body } = await create({ data, mask: '{{ data | reveal_last: 4 }}', metadata: { lower: 'yes' } })
  const other = await create({ data: 'has no mask', metadata: { lower: 'no' } })
  await api.call('POST', `/tokens/${body.id}/children/${other.body.id}`, { key })
  const search = { query: 'metadata.lower:yes' }
  const reads = async (disclosure?: string, as = revealing) => {
    const query = disclosure === undefined ? '' : `disclosure=${disclosure}`
    const call = (path: string) => api.call('GET', path, { key: as })
    const find = (path: string) =>
      api.call('POST', path, { key: as, body: disclosure ? { ...search, disclosure } : search })
    const lists = await Promise.all([
      call(`/tokens?metadata.lower=yes&${query}`),
      call(`/v2/tokens?metadata.lower=yes&${query}`),
      find('/tokens/search'),
      find('/v2/tokens/search'),
    ])
    const one = await call(`/tokens/${body.id}?${query}`)
    return [one.body, ...lists.map((list) => list.body.data[0])].map((token) => token.data)
  }
  t.strictSame(new Set(await reads()), new Set([data]))
  t.strictSame(new Set(await reads('mask')), new Set(['XXXXXXXXXX4242']))
  t.strictSame(new Set(await reads('redact')), new Set([undefined]))
  t.strictSame(new Set(await reads('redact', key)), new Set([undefined]), 'a mask, too')
  const child = async (query: string) =>
    (await api.call('GET', `/tokens/${body.id}/children${query}`, { key: revealing })).body.data[0].data
  t.equal(await child(''), 'has no mask')
  t.equal(await child('?disclosure=mask'), undefined, 'a token without a mask')
  for (const disclosure of ['reveal', 'MASK'])
    t.match(await api.call('GET', `/tokens/${body.id}?disclosure=${disclosure}`, { key: revealing }), {
      status: 400,
    })
})

t.test('a token read with a disclosure has the flags of what the key sees without it', async (t) => {
  const rule = (priority: number, container: string, transform: string, permission = 'token:read') => ({
    description: 'a rule',
    priority,
    container,
    transform,
    permissions: [permission],
  })
  const { key: ruled } = await api.application(
    'private',
    [],
    [rule(3, '/', 'reveal'), rule(1, '/pci/', 'mask'), rule(2, '/hr/', 'reveal', 'token:use')],
  )
  const seen = async (container: string, more: object = {}, as = ruled) => {
    const { body } = await create({ data: 'a value', containers: [container], ...more })
    const read = (query: string) => api.call('GET', `/tokens/${body.id}${query}`, { key: as })
    t.notOk('disclosure' in (await read('')).body, 'a read without one says nothing of it')
    const [masked, redacted] = [await read('?disclosure=mask'), await read('?disclosure=redact')]
    t.equal(masked.body.disclosure, redacted.body.disclosure)
    t.not(masked.body.data, 'a value')
    return masked.body.disclosure
  }
  t.equal(await seen('/a/'), 'reveal')
  t.equal(await seen('/pci/high/'), 'mask', 'an earlier rule masks')
  t.equal(await seen('/hr/'), 'reveal', 'a rule for another permission does not decide')
  t.equal(await seen('/pcix/'), 'reveal', 'by segments')
  t.equal(await seen('/a/', { egress_only: true }), 'mask', 'a value for proxies only')
  t.equal(await seen('/a/', {}, key), 'mask', 'a plain permission masks')
})
