import t from 'tap'
import { textAtRest } from '../kit/test-store.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const ALL = ['token:create', 'token:read', 'token:update', 'token:delete']
const { key } = await api.application('private', ALL)
const { key: twin } = await api.application('private', ALL)

/** Made once: a repetition is what these tests are about. */
const send = (method: string, path: string, body: object, idempotency: string, as = key) =>
  api.call(method, path, { key: as, body, headers: { 'svc-idempotency-key': idempotency }, once: true })
const count = async () => (await api.call('GET', '/tokens', { key })).body.pagination.total_items as number

t.test(
  '"the first successful answer (status and body) is kept … and replayed even if the body differs"',
  async (t) => {
    const first = await send('POST', '/tokens', { data: 'a', metadata: { n: '1' } }, 'order-1')
    t.equal(first.status, 201)
    const again = await send('POST', '/tokens', { data: 'b' }, 'order-1')
    t.equal(again.status, 201)
    t.strictSame(again.body, first.body)
    t.equal(again.headers.location, first.headers.location)
    t.equal(await count(), 1)
    const other = await send('POST', '/tokens', { data: 'b' }, 'order-2')
    t.not(other.body.id, first.body.id)
    t.not((await api.call('POST', '/tokens', { key, body: { data: 'c' } })).body.id, first.body.id)
  },
)

t.test('a repeated response says so, and the first one, a read and a deletion do not', async (t) => {
  const headers = { 'svc-idempotency-key': 'replayed' }
  const call = async (method: string, path: string, body?: object) => {
    const { headers: responded, ...rest } = await api.call(method, path, { key, body, headers, once: true })
    return { ...rest, replayed: responded['idempotent-replayed'] }
  }
  const first = await call('POST', '/tokens', { data: 'a' })
  t.match(first, { status: 201, replayed: undefined })
  t.match(await call('POST', '/tokens', { data: 'a' }), { status: 201, replayed: 'true' })
  const path = `/tokens/${first.body.id}`
  for (const replayed of [undefined, 'true'])
    t.match(await call('PATCH', path, { metadata: { n: '1' } }), { status: 200, replayed })
  for (const method of ['GET', 'GET', 'DELETE', 'DELETE'])
    t.match(await call(method, path), { replayed: undefined }, method)
})

t.test('Idempotency-Key is the prefixed header by another name, and may not differ from it', async (t) => {
  const create = (headers: Record<string, string>, as = key) =>
    api.call('POST', '/tokens', { key: as, body: { data: 'a' }, headers, once: true })
  const plain = { 'idempotency-key': 'plain' }
  const prefixed = { 'svc-idempotency-key': 'plain' }
  const { body } = await create(plain)
  for (const headers of [plain, prefixed, { ...plain, ...prefixed }])
    t.match(await create(headers), { status: 201, body, headers: { 'idempotent-replayed': 'true' } })
  const before = await count()
  const different = { ...plain, 'svc-idempotency-key': 'other' }
  t.match(await create(different), { status: 400, body: { code: 'malformed' } })
  t.equal((await create(different, 'unknown')).status, 401)
  t.equal((await create({ 'idempotency-key': '' })).status, 400)
  t.equal(await count(), before)
  t.equal((await api.call('GET', '/tokens', { key, headers: different })).status, 200, 'reads ignore both')
})

t.test('an invalid body gets the stored response like any other', async (t) => {
  const first = await send('POST', '/tokens', { data: 'a' }, 'rejected')
  const invalid = (idempotency: string, as = key) => {
    const headers = { 'svc-idempotency-key': idempotency }
    return api.call('POST', '/tokens', {
      key: as,
      raw: '{"data":"a","metadata":"no map"}',
      headers,
      once: true,
    })
  }
  const again = await invalid('rejected')
  t.strictSame([again.status, again.body], [201, first.body])
  t.equal((await invalid('rejected first')).status, 400)
  t.equal((await send('POST', '/tokens', { data: 'a' }, 'rejected first')).status, 201)
  const { key: reader } = await api.application('private', ['token:read'])
  t.equal((await invalid('rejected', reader)).status, 400, 'validated before it is denied')
})

t.test('"per tenant, application and key"', async (t) => {
  const mine = await send('POST', '/tokens', { data: 'a' }, 'shared')
  const theirs = await send('POST', '/tokens', { data: 'a' }, 'shared', twin)
  t.not(theirs.body.id, mine.body.id)
  const other = await api.otherTenant()
  const stranger = await send('POST', '/tokens', { data: 'a' }, 'shared', await other.application(ALL))
  t.not(stranger.body.tenant_id, mine.body.tenant_id)
})

t.test('"kept 24 h"', async (t) => {
  const first = await send('POST', '/tokens', { data: 'a' }, 'day')
  api.clock.advance(24 * 3_600_000 - 1)
  t.equal((await send('POST', '/tokens', { data: 'a' }, 'day')).body.id, first.body.id)
  api.clock.advance(1)
  t.not((await send('POST', '/tokens', { data: 'a' }, 'day')).body.id, first.body.id)
})

t.test('results of code are replayed for ten minutes, the tokens that it created for 24 h', async (t) => {
  const body = { name: 'r', code: 'module.exports = ({ args }) => ({ raw: args, tokenize: { a: args.a } })' }
  const reactor = (await api.call('POST', '/reactors', { key: api.management, body })).body.id
  const { key: user } = await api.application('private', ['token:use', 'token:create'])
  const react = () => send('POST', `/reactors/${reactor}/react`, { args: { a: 'x' } }, 'react', user)
  const first = await react()
  t.match(first.body, { raw: { a: 'x' }, tokens: { a: String } })
  api.clock.advance(10 * 60_000 - 1)
  t.strictSame((await react()).body, first.body)
  api.clock.advance(1)
  t.strictSame((await react()).body, { tokens: first.body.tokens })
})

t.test('literals in the tokenized result of code are replayed for ten minutes, as its raw is', async (t) => {
  const code = `module.exports = ({ args }) => ({
    tokenize: {
      pan: Number(args.n), exp: 12, text: 'x', none: null,
      list: [true, { type: 'token', data: 'y', metadata: { a: 'b' } }],
    },
  })`
  const created = await api.call('POST', '/reactors', { key: api.management, body: { name: 'r', code } })
  const { key: user } = await api.application('private', ['token:use', 'token:create', 'token:delete'])
  const body = { data: '4242424242424242' }
  const token: string = (await api.call('POST', '/tokens', { key: user, body })).body.id
  const react = (name: string) =>
    send('POST', `/reactors/${created.body.id}/react`, { args: { n: `{{ ${token} }}` } }, name, user)
  const firsts = [await react('literals'), await react('literals, deleted')] as const
  for (const { body } of firsts)
    t.match(body.tokens, { pan: 4242424242424242, exp: 12, text: String, list: [true, { type: 'token' }] })
  const expectSummary = async (name: string, first: (typeof firsts)[number]) => {
    const { body } = await react(name)
    const { text, list } = first.body.tokens
    t.match(body.tokens, { text, list: [null, { id: list[1].id, type: 'token', metadata: { a: 'b' } }] })
    t.strictSame(
      { ...body.tokens, text: '', list: [] },
      { pan: null, exp: null, text: '', none: null, list: [] },
    )
  }

  t.strictSame((await react('literals')).body, firsts[0].body)
  api.clock.advance(10 * 60_000 - 1)
  t.strictSame((await react('literals')).body, firsts[0].body)
  t.equal((await api.call('DELETE', `/tokens/${token}`, { key: user })).status, 204)
  await expectSummary('literals, deleted', firsts[1])
  api.clock.advance(1)
  await expectSummary('literals', firsts[0])
})

t.test(
  'a result of code shows no created token in full after a token that the code was given is gone',
  async (t) => {
    const code = `module.exports = ({ args }) => ({ tokenize: { type: 'token', data: args.n, mask: 'literal' } })`
    const created = await api.call('POST', '/reactors', { key: api.management, body: { name: 'r', code } })
    const { key: user } = await api.application('private', [...ALL, 'token:use'], [])
    const token: string = (await api.call('POST', '/tokens', { key: user, body: { data: 'given' } })).body.id
    const react = () =>
      send('POST', `/reactors/${created.body.id}/react`, { args: { n: `{{ ${token} }}` } }, 'derived', user)
    const first = await react()
    t.match(first.body.tokens, { mask: 'literal' })
    api.clock.advance(3_600_000)
    t.strictSame((await react()).body, first.body)
    t.equal((await api.call('DELETE', `/tokens/${token}`, { key: user })).status, 204)
    const { body } = await react()
    t.equal(body.tokens.id, first.body.tokens.id)
    t.notMatch(JSON.stringify(body), /literal|given/)
  },
)

t.test('a result of code is recorded each time that it is replayed, before the response', async (t) => {
  const code = 'module.exports = ({ args }) => ({ raw: args })'
  const created = await api.call('POST', '/reactors', { key: api.management, body: { name: 'r', code } })
  const { id: actor_id, key: user } = await api.application('private', ['token:use', 'token:create'])
  const { body: token } = await api.call('POST', '/tokens', { key: user, body: { data: 'plain-31b7' } })
  const react = () =>
    send('POST', `/reactors/${created.body.id}/react`, { args: { n: `{{ ${token.id} }}` } }, 'recorded', user)
  const records = async () =>
    (
      await api.call('GET', `/logs?entity_type=reactor&entity_id=${created.body.id}`, { key: api.management })
    ).body.data.filter(({ operation }: { operation: string }) => operation === 'read')
  t.strictSame((await react()).body, { raw: { n: 'plain-31b7' } })
  t.strictSame(await records(), [])
  for (const times of [1, 2]) {
    t.strictSame((await react()).body, { raw: { n: 'plain-31b7' } })
    const found = await records()
    t.equal(found.length, times)
    t.match(found[0], { actor_id, message: 'Reactor result retrieved from a repeated response' })
  }
  api.clock.advance(10 * 60_000)
  t.strictSame((await react()).body, {})
  t.equal((await records()).length, 2, 'what shows no result is no disclosure')
})

t.test('new keys are replayed for ten minutes, and the rest of the response for 24 h', async (t) => {
  const repeated = async (path: string, secrets: readonly string[], input: object, as = api.management) => {
    const call = () => send('POST', path, input, `new key ${path}`, as)
    const first = await call()
    for (const name of secrets) t.type(first.body[name], 'string')
    api.clock.advance(10 * 60_000 - 1)
    t.strictSame((await call()).body, first.body)
    api.clock.advance(1)
    const { status, body } = await call()
    t.equal(status, first.status)
    const rest = Object.entries(first.body).filter(([name]) => !secrets.includes(name))
    t.strictSame(body, Object.fromEntries(rest))
    return first.body
  }
  const created = { name: 'n', type: 'private', permissions: ['token:read'] }
  const { id } = await repeated('/applications', ['key'], created)
  await repeated(`/applications/${id}/regenerate`, ['key'], {})
  await repeated(`/applications/${id}/keys`, ['key'], {})
})

t.test('visitors with one public key get nothing of each other by guessing a key', async (t) => {
  const { key: browser } = await api.application('public', ['token:create'])
  const session = () => send('POST', '/sessions', {}, 'guessed', browser)
  const [one, two] = [await session(), await session()]
  t.strictSame([one.status, two.status], [201, 201])
  t.not(two.body.session_key, one.body.session_key)
  t.not(two.body.nonce, one.body.nonce)

  const create = (data: string) => send('POST', '/tokens', { data }, 'guessed', browser)
  const [mine, theirs] = [await create('mine'), await create('theirs')]
  t.not(theirs.body.id, mine.body.id)
  t.strictSame((await create('mine')).body, mine.body, 'the same body repeats the call')
  const rule = {
    description: 'd',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:read'],
  }
  const reader = await api.application('private', [], [rule])
  const stored = await api.call('GET', `/tokens/${theirs.body.id}`, { key: reader.key })
  t.equal(stored.body.data, 'theirs')
})

t.test('a session has a key of its own: its calls repeat whatever the body is', async (t) => {
  const { key: browser } = await api.application('public', ['token:create'])
  const { session_key, nonce } = (await api.call('POST', '/sessions', { key: browser })).body
  const body = { nonce, permissions: ['token:create'] }
  await api.call('POST', '/sessions/authorize', { key, body })
  const create = (data: string) => send('POST', '/tokens', { data }, 'of a session', session_key)
  t.strictSame((await create('b')).body, (await create('a')).body)
})

t.test('"failures are not kept"', async (t) => {
  t.equal((await send('POST', '/tokens', { type: 'card', data: 1 }, 'again')).status, 400)
  t.equal((await send('GET', '/tokens/none', {}, 'again')).status, 404)
  t.equal((await send('PATCH', '/tokens/none', { data: 1 }, 'again')).status, 404)
  t.equal((await send('POST', '/tokens', { data: 1 }, 'again')).status, 201)
})

t.test(
  '"a second request while the first runs → 409": of 64 at once one runs, and later all get its response',
  async (t) => {
    const before = await count()
    const responses = await Promise.all(
      Array.from({ length: 64 }, (_, i) => send('POST', '/tokens', { data: i }, 'race')),
    )
    const created = responses.filter(({ status }) => status === 201)
    t.ok(created.length >= 1)
    t.equal(new Set(created.map(({ body }) => body.id)).size, 1)
    t.ok(responses.every(({ status }) => status === 201 || status === 409))
    t.equal(await count(), before + 1)
    t.equal((await send('POST', '/tokens', { data: 'x' }, 'race')).body.id, created[0]!.body.id)
  },
)

t.test('"on POST, PUT and PATCH of the management API …; not on GET, DELETE"', async (t) => {
  const { body: token } = await api.call('POST', '/tokens', { key, body: { data: 'a' } })
  const patch = (n: string) => send('PATCH', `/tokens/${token.id}`, { metadata: { n } }, 'patched')
  t.equal((await patch('1')).body.metadata.n, '1')
  t.equal((await patch('2')).body.metadata.n, '1')
  t.equal((await api.call('GET', `/tokens/${token.id}`, { key })).body.metadata.n, '1')
  const put = (name: string) => send('PUT', '/tenants/self', { name }, 'put', api.management)
  t.equal((await put('One')).body.name, 'One')
  t.equal((await put('Two')).body.name, 'One')
  const remove = () => send('DELETE', `/tokens/${token.id}`, {}, 'removed')
  t.equal((await remove()).status, 204)
  t.equal((await remove()).status, 404)
  const read = await send('POST', '/detokenize', { a: 'x' }, 'read')
  t.strictSame(read.body, { a: 'x' })
  t.strictSame(
    (await send('POST', '/detokenize', { a: 'y' }, 'read')).body,
    { a: 'y' },
    'reading is never replayed',
  )
})

t.test('an association is created once per idempotency key, though it only requires reading', async (t) => {
  const ids: string[] = []
  for (const data of ['a', 'b'])
    ids.push((await api.call('POST', '/tokens', { key, body: { data } })).body.id)
  const [parent, child] = ids as [string, string]
  const path = `/tokens/${parent}/children/${child}`
  const associate = (idempotency: string) => send('POST', path, {}, idempotency)
  t.equal((await associate('associated')).status, 204)
  t.equal((await associate('associated')).status, 204, 'repeated')
  t.equal((await associate('another key')).status, 409)
  t.equal((await api.call('DELETE', path, { key })).status, 204)
  t.equal((await associate('associated')).status, 204)
  t.strictSame((await api.call('GET', `/tokens/${parent}/children`, { key })).body.data, [], 'not made again')
})

t.test('one idempotency key with changes of two entities changes both, each once', async (t) => {
  const make = async () => (await api.call('POST', '/tokens', { key, body: { data: 'a' } })).body.id
  for (const id of [await make(), await make()]) {
    const patch = (n: string) => send('PATCH', `/tokens/${id}`, { metadata: { n } }, 'both')
    t.match((await patch('1')).body, { id, metadata: { n: '1' } })
    t.match((await patch('2')).body, { id, metadata: { n: '1' } })
    t.equal((await api.call('GET', `/tokens/${id}`, { key })).body.metadata.n, '1')
  }
})

t.test('an idempotency key belongs to one operation, and has 1 to 200 characters', async (t) => {
  // There are clients that send the key they were given once with every call from then on.
  const first = await send('POST', '/tokens', { data: 'a' }, 'one-kind')
  const other = await send('POST', '/tokenize', { a: 'b' }, 'one-kind')
  t.equal(other.status, 200)
  t.strictSame((await send('POST', '/tokenize', { a: 'c' }, 'one-kind')).body, other.body)
  t.strictSame((await send('POST', '/tokens', { data: 'd' }, 'one-kind')).body, first.body)
  t.equal((await send('POST', '/tokens', { data: 'a' }, 'x'.repeat(200))).status, 201)
  t.equal((await send('POST', '/tokens', { data: 'a' }, 'x'.repeat(201))).status, 400)
})

const revealAll = {
  description: 'all',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ALL,
}

t.test(
  '"204; data gone for good": a replayed response then shows of a token what its id alone permits',
  async (t) => {
    const { key } = await api.application('private', [], [revealAll])
    const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
    const definitions = { a: card, list: [{ type: 'token', data: 'second', mask: 'literal' }], plain: 'x' }
    const post = (name: string, path: string, body: object) => send('POST', path, body, name, key)

    const first = await post('gone-1', '/tokens', card)
    const bulk = await post('gone-2', '/tokenize', definitions)
    t.equal(first.body.data.number, card.data.number)
    t.strictSame((await post('gone-1', '/tokens', card)).body, first.body)
    t.strictSame((await post('gone-2', '/tokenize', definitions)).body, bulk.body)
    const second: string = bulk.body.list[0].id
    for (const id of [first.body.id, second])
      t.equal((await api.call('DELETE', `/tokens/${id}`, { key })).status, 204)

    const again = await post('gone-1', '/tokens', card)
    const { data, mask, search_indexes, fingerprint_expression, ...outline } = first.body
    t.equal(again.status, 201)
    t.strictSame(again.body, outline)
    const bulkAgain = await post('gone-2', '/tokenize', definitions)
    t.equal(bulkAgain.body.list[0].id, second)
    t.equal(bulkAgain.body.plain, bulk.body.plain)
    t.notMatch(JSON.stringify(bulkAgain.body), /literal|second|X4242|42424242/)
    const { body: logs } = await api.call('GET', `/logs?entity_id=${first.body.id}`, { key: api.management })
    t.strictSame(
      logs.data.map(({ operation }: { operation: string }) => operation),
      ['delete', 'read', 'create'],
      'what shows no data is no disclosure',
    )
  },
)

t.test('a replayed response shows neither an expired cvc nor replaced data', async (t) => {
  const { key } = await api.application('private', [], [revealAll])
  const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
  const post = (name: string, body: object) => send('POST', '/tokens', body, name, key)
  const first = await post('cvc', card)
  t.equal(first.body.data.cvc, '123')
  api.clock.advance(3_600_000)
  const again = await post('cvc', card)
  t.equal(again.body.id, first.body.id)
  t.equal(again.body.data, undefined)

  const { body: token } = await post('replaced', { data: 'before' })
  await api.call('PATCH', `/tokens/${token.id}`, { key, body: { data: 'after' } })
  t.equal((await post('replaced', { data: 'before' })).body.data, undefined)
})

t.test('stored responses are encrypted, and a replay that shows data is recorded', async (t) => {
  const { key: revealing } = await api.application('private', [], [revealAll])
  const secret = 'plain-5f0e77aa91'
  const first = await send('POST', '/tokens', { data: secret }, 'idem-9d1c', revealing)
  t.equal(first.body.data, secret)
  const created = await send(
    'POST',
    '/applications',
    { name: 'x', type: 'private', permissions: ['token:read'] },
    'application',
    api.management,
  )
  t.match(created.body.key, /^key_/)
  const again = await send('POST', '/tokens', { data: secret }, 'idem-9d1c', revealing)
  t.strictSame(again.body, first.body)
  const { body: logs } = await api.call('GET', `/logs?entity_id=${first.body.id}`, { key: api.management })
  t.match(logs.data, [{ operation: 'read', message: /repeated/ }, { operation: 'create' }])
  const files = await textAtRest(api.service.location)
  for (const text of [secret, created.body.key, 'idem-9d1c'])
    t.ok(
      files.every((file) => !file.includes(text)),
      text,
    )
})

t.test('a replayed response is redacted by the current grants', async (t) => {
  const { id, key } = await api.application('private', [], [revealAll])
  const card = {
    type: 'card',
    data: { number: '4242424242424242' },
    metadata: { n: '1' },
    deduplicate_token: true,
  }
  const token = (await api.call('POST', '/tokens', { key, body: card })).body
  const requests: readonly (readonly [string, string, object])[] = [
    ['POST', '/tokens', { type: 'token', data: 'plain-6a10', metadata: { n: '1' } }],
    ['PATCH', `/tokens/${token.id}`, { metadata: { n: '2' } }],
    ['POST', '/tokenize', { a: { type: 'token', data: 'plain-6a10', metadata: { n: '3' } } }],
  ]
  const repeat = () =>
    Promise.all(requests.map(([method, path, body]) => send(method, path, body, 'rules', key)))
  const first = await repeat()
  t.match(JSON.stringify(first), /plain-6a10.*4242424242424242.*plain-6a10/)
  t.strictSame(
    (await repeat()).map(({ body }) => body),
    first.map(({ body }) => body),
  )
  const regrant = async (rules: readonly object[]) =>
    t.equal(
      (await api.call('PUT', `/applications/${id}`, { key: api.management, body: { name: 'spec', rules } }))
        .status,
      200,
    )
  for (const rule of [
    { ...revealAll, transform: 'redact' },
    { ...revealAll, transform: 'mask' },
    { ...revealAll, container: '/elsewhere/' },
  ]) {
    await regrant([rule])
    const before = (await api.call('GET', `/logs?entity_id=${token.id}`, { key: api.management })).body
    const again = await repeat()
    for (const [index, { status, body }] of again.entries()) {
      t.equal(status, first[index]!.status)
      const shown = body.a ?? body
      t.equal(shown.id, (first[index]!.body.a ?? first[index]!.body).id)
      for (const member of ['data', 'mask', 'metadata', 'fingerprint', 'fingerprint_expression'])
        t.notOk(member in shown, `${member} by ${rule.transform} for ${rule.container}`)
    }
    const after = (await api.call('GET', `/logs?entity_id=${token.id}`, { key: api.management })).body
    t.equal(after.pagination.total_items, before.pagination.total_items, 'it is no disclosure')
  }
  await regrant([revealAll])
  t.strictSame((await repeat())[1]?.body, first[1]?.body, 'nor is it forgotten')
})
