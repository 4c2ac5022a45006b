import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const { clock } = api
const manage = (method: string, path: string, body?: object) =>
  api.call(method, path, { key: api.management, ...(body ? { body } : {}) })

interface Made {
  readonly configuration?: object
  readonly application?: { readonly id: string }
}

const reactorOf = async (code: string, made: Made = {}): Promise<string> =>
  (await manage('POST', '/reactors', { name: 'Reactor', code, ...made })).body.id

const formulaOf = async (code: string, request_parameters: object[], configuration: object[] = []) =>
  (
    await manage('POST', '/reactor-formulas', {
      name: 'Formula',
      type: 'private',
      code,
      configuration,
      request_parameters,
    })
  ).body

const { key } = await api.application('private', ['token:use', 'token:create'])
const react = (id: string, body: object = {}, as = key) =>
  api.call('POST', `/reactors/${id}/react`, { key: as, body, once: true })
const cardOf = async () =>
  (
    await api.call('POST', '/tokens', {
      key,
      body: { type: 'card', data: { number: '4242424242424242', cvc: '123' } },
    })
  ).body.id as string
const ECHO = 'module.exports = async (req) => ({ raw: req })'
const throwing = (thrown: string) =>
  reactorOf(`const errors = require('sidevault'); module.exports = async () => { throw ${thrown} }`)

t.test(
  '"args are detokenized with the caller\'s token:use … the code runs … tokenize of its result is tokenized"',
  async (t) => {
    const card = await cardOf()
    const id = await reactorOf(
      `module.exports = async ({ args, configuration }) => ({
    raw: { last4: args.card.number.slice(-4), greeting: configuration.greeting, untouched: args.n },
    tokenize: { copy: { type: 'card', data: args.card }, text: 'secret text' },
  })`,
      { configuration: { greeting: 'hello' } },
    )
    const { status, body } = await react(id, { args: { card: `{{ ${card} }}`, n: 1.5 } })
    t.equal(status, 200)
    t.strictSame(body.raw, { last4: '4242', greeting: 'hello', untouched: 1.5 })
    t.match(body.tokens, { copy: { type: 'card', id: /^[0-9a-f-]{36}$/ }, text: /^[0-9a-f-]{36}$/ })
    t.notMatch(JSON.stringify(body), '4242424242424242')
    const uses = await api.call('GET', `/logs?entity_id=${card}`, { key: api.management })
    t.ok(
      uses.body.data.some(({ operation }: { operation: string }) => operation === 'use'),
      'each use is recorded',
    )
    const runs = await api.call('GET', `/logs?entity_id=${id}&entity_type=reactor`, { key: api.management })
    t.match(runs.body.data[0], { operation: 'use', message: 'Reactor invoked', actor_type: 'application' })
  },
)

t.test('"→ 200 { tokens?, raw? }": members that the code omits are omitted', async (t) => {
  t.strictSame((await react(await reactorOf('module.exports = () => ({ raw: [1, null] })'))).body, {
    raw: [1, null],
  })
  t.strictSame((await react(await reactorOf('module.exports = () => ({})'))).body, {})
  for (const code of [
    'module.exports = () => {}',
    'module.exports = () => "text"',
    'module.exports = () => [1]',
  ])
    t.match((await react(await reactorOf(code))).body, { status: 400, detail: /returned no object/ })
  t.strictSame((await react(await reactorOf('exports.default = ({ args }) => ({ raw: args })'))).body.raw, {})
  t.strictSame(
    (await react(await reactorOf('export default ({ args }) => ({ raw: args })'), { args: 'any' })).body.raw,
    'any',
  )
})

t.test('a changed formula changes the code and the contract of all its reactors', async (t) => {
  const formula = await formulaOf('module.exports = () => ({ raw: 1 })', [])
  const id = (await manage('POST', '/reactors', { name: 'Reactor', formula: { id: formula.id } })).body.id
  t.strictSame((await react(id)).body, { raw: 1 })
  await manage('PUT', `/reactor-formulas/${formula.id}`, {
    ...formula,
    code: 'module.exports = () => ({ raw: 2 })',
    request_parameters: [{ name: 'now', type: 'string' }],
  })
  t.match(await react(id), { status: 400, body: { errors: { 'args.now': [String] } } })
  t.strictSame((await react(id, { args: { now: 'x' } })).body, { raw: 2 })
})

t.test('"checked and cast against request_parameters (dotted names nest; "123" → 123 …)"', async (t) => {
  const formula = await formulaOf(
    ECHO,
    [
      { name: 'amount', type: 'number' },
      { name: 'card.number', type: 'string' },
      { name: 'capture', type: 'boolean', optional: true },
    ],
    [
      { name: 'LIMIT', type: 'number' },
      { name: 'LIVE', type: 'boolean' },
    ],
  )
  const id = (
    await manage('POST', '/reactors', {
      name: 'R',
      formula: { id: formula.id },
      configuration: { LIMIT: '250', LIVE: 'false' },
    })
  ).body.id
  const card = await cardOf()
  const args = { amount: '123', card: `{{ ${card} }}`, more: '5' }
  const { body } = await react(id, { args })
  t.match(body.raw.args, { amount: 123, card: { number: '4242424242424242' }, more: '5' })
  t.strictSame(body.raw.configuration, { LIMIT: 250, LIVE: false })
  const rejected = await react(id, { args: { amount: '4242x', card: {}, capture: 'maybe' } })
  t.equal(rejected.status, 400)
  t.same(Object.keys(rejected.body.errors), ['args.amount', 'args.card.number', 'args.capture'])
  t.notMatch(rejected.text, '4242x', 'the error does not contain the value')
})

t.test('"Invoking a reactor needs token:use", on each container', async (t) => {
  const id = await reactorOf(ECHO)
  const card = await cardOf()
  const { key: reading } = await api.application('private', ['token:read'])
  const rule = {
    description: 'x',
    priority: 1,
    container: '/general/',
    transform: 'reveal',
    permissions: ['token:use'],
  }
  const { key: general } = await api.application('private', [], [rule])
  t.equal((await react(id, {}, reading)).status, 403)
  t.equal((await react(id, {}, api.management)).status, 403)
  t.equal((await react(id, { args: 'nothing to detokenize' }, general)).status, 200)
  t.equal((await react(id, { args: `{{ ${card} }}` }, general)).status, 403)
  t.equal((await react(id, { args: '{{ 7d9a4c5e-0000-4000-8000-000000000000 }}' })).status, 400)
  t.equal((await react('7d9a4c5e-0000-4000-8000-000000000000')).status, 404)
})

t.test("a result is tokenized by the caller if permitted, else by the reactor's application", async (t) => {
  const code = 'module.exports = () => ({ tokenize: { a: "x" } })'
  const { key: using } = await api.application('private', ['token:use'])
  const { id: maker } = await api.application('public', ['token:create'])
  t.equal((await react(await reactorOf(code), {}, using)).status, 403)
  const { status, body } = await react(await reactorOf(code, { application: { id: maker } }), {}, using)
  t.equal(status, 200)
  const { body: log } = await manage('GET', `/logs?entity_id=${body.tokens.a}`)
  t.match(log.data[0], { operation: 'create', actor_id: maker })
})

t.test('"typed errors" have their status, all others are 400 with their message', async (t) => {
  for (const [thrown, status, detail] of [
    ['new Error("no such order")', 400, /no such order/],
    ['"a text"', 400, /a text/],
    ['new errors.BadRequestError("bad")', 400, /bad/],
    ['new errors.AuthenticationError("who")', 401, /who/],
    ['new errors.InvalidPaymentMethodError("declined")', 402, /declined/],
    ['new errors.AuthorizationError("may not")', 403, /may not/],
    ['new errors.RateLimitError("slow down")', 429, /slow down/],
    ['new errors.ReactorRuntimeError("broken")', 500, /broken/],
  ] as const) {
    const response = await react(await throwing(thrown))
    t.equal(response.status, status, thrown)
    t.match(response.body, { code: 'code_failed', status, detail })
  }
  const response = await react(await reactorOf('module.exports = (req) => {\n  req.nothing.there }'))
  t.match(response.body.detail, /TypeError.*reactor:2:/, 'with the place in the code')
})

t.test("CustomHttpResponseError sets the response's status, headers and body", async (t) => {
  const id = await throwing(
    "new errors.CustomHttpResponseError({ status: 418, headers: { 'x-teapot': 'café', 'content-length': '1', 'transfer-encoding': 'chunked' }, body: { short: 'stöut' } })",
  )
  const response = await api.service.call('POST', `/reactors/${id}/react`, { key, body: {} })
  t.equal(response.status, 418)
  t.equal(response.headers['x-teapot'], 'café', 'one byte a character')
  t.not(response.headers['content-length'], '1')
  t.notOk(response.headers['transfer-encoding'])
  t.strictSame(response.json, { short: 'stöut' })
  const { status, body } = await react(id)
  t.equal(status, 418)
  t.strictSame(body.body ?? body, { short: 'stöut' }, 'over gRPC it lies in the problem')
})

t.test('code that cannot run is 422, with its error', async (t) => {
  for (const code of ['module.exports = {', 'module.exports = 1', 'throw new Error("at load")']) {
    const { status, body } = await react(await reactorOf(code))
    t.equal(status, 422, code)
    t.match(body.detail, /The reactor cannot run/)
  }
})

t.test('time is limited by timeout_ms, and to 30 s at most', async (t) => {
  const waiting = await reactorOf('module.exports = () => new Promise(() => setTimeout(() => {}, 60000))')
  const { status, body } = await react(waiting, { timeout_ms: 50 })
  t.equal(status, 400)
  t.match(body.detail, /The reactor was stopped/)
  t.equal((await react(waiting, { timeout_ms: 0 })).status, 400)
  t.equal((await react(await reactorOf(ECHO), { timeout_ms: 600_000 })).status, 200)
})

t.test('bt acts as the application of the reactor, and is absent without one', async (t) => {
  const { id: application } = await api.application('private', ['token:read', 'token:create'])
  const code = `module.exports = async ({ args, bt }) => {
    if (!bt) return { raw: 'none' }
    const made = await bt.tokens.create({ type: 'token', data: args.text })
    const read = await bt.tokens.retrieve(made.id)
    const tokens = await bt.tokenize({ a: 'b' })
    let rejected
    try { await bt.tokens.delete(made.id) } catch (error) { rejected = { name: error.name, status: error.status } }
    return { raw: { id: made.id, read: read.id, list: typeof tokens.a, rejected } }
  }`
  t.equal((await react(await reactorOf(code), { args: { text: 'x' } })).body.raw, 'none')
  const { body } = await react(await reactorOf(code, { application: { id: application } }), {
    args: { text: 'x' },
  })
  t.match(body.raw, { id: String, list: 'string', rejected: { name: 'AuthorizationError', status: 403 } })
  t.equal(body.raw.read, body.raw.id)
  const { body: logs } = await manage('GET', `/logs?entity_id=${body.raw.id}`)
  t.ok(logs.data.length >= 2)
  t.ok(
    logs.data.every(({ actor_id }: { actor_id: string }) => actor_id === application),
    'audited as it',
  )
})

t.test('permissions that the application loses are denied to its code too', async (t) => {
  const { id: application } = await api.application('private', ['token:create'])
  const code =
    'module.exports = async ({ bt }) => ({ raw: (await bt.tokens.create({ type: "token", data: 1 })).type })'
  const id = await reactorOf(code, { application: { id: application } })
  t.equal((await react(id)).body.raw, 'token')
  await manage('PUT', `/applications/${application}`, { name: 'x', permissions: ['token:read'], rules: [] })
  t.equal((await react(id)).status, 403)
  await manage('DELETE', `/applications/${application}`)
  t.equal((await react(id)).status, 401)
})

t.test('reactors may call reactors to a limited depth', async (t) => {
  const { id: application } = await api.application('private', ['token:use'])
  const code = `module.exports = async ({ args, bt }) => {
    if (args.depth === 0) return { raw: 'bottom' }
    const { raw } = await bt.reactors.react(args.self, { args: { self: args.self, depth: args.depth - 1 } })
    return { raw: 'over ' + raw }
  }`
  const id = await reactorOf(code, { application: { id: application } })
  t.equal((await react(id, { args: { self: id, depth: 2 } })).body.raw, 'over over bottom')
  t.match((await react(id, { args: { self: id, depth: 20 } })).body, { status: 403, detail: /deep/ })
})

/** The outcome of the request, as soon as it has one. */
const resultOf = async (reactor: string, request: string, as = key) => {
  for (;;) {
    const response = await api.call('GET', `/reactors/${reactor}/results/${request}`, { key: as, once: true })
    if (response.status !== 404) return response
    await setImmediate()
  }
}

t.test('"react-async → 202 … results → 200 or 404 until ready"', async (t) => {
  const id = await reactorOf('module.exports = async ({ args }) => ({ raw: args, tokenize: { a: "x" } })')
  const card = await cardOf()
  const body = { args: { card: `{{ ${card} | json: '$.number' | last4 }}` } }
  const started = await api.call('POST', `/reactors/${id}/react-async`, { key, body })
  t.equal(started.status, 202)
  t.same(Object.keys(started.body), ['asyncReactorRequestId'])
  const request: string = started.body.asyncReactorRequestId
  const { status, body: result } = await resultOf(id, request)
  t.equal(status, 200)
  t.match(result, { raw: { card: '4242' }, tokens: { a: /^[0-9a-f-]{36}$/ } })
  t.equal((await resultNow(id, request)).status, 404, 'handed out once')
  t.equal(
    (await api.call('POST', `/reactors/${id}/react-async`, { key, body: { args: '{{ nothing }}' } })).status,
    400,
    'an invalid request is rejected at once',
  )
})

const ARGS = 'module.exports = ({ args }) => ({ raw: args })'

/** Begins an invocation with these arguments, and resolves when its result is there to be fetched. */
const finished = async (reactor: string, args: object, as = key): Promise<string> => {
  const path = `/reactors/${reactor}/react-async`
  const request: string = (await api.call('POST', path, { key: as, body: { args } })).body
    .asyncReactorRequestId
  const row = () => api.service.store.records.get('reactor_requests', api.service.tenantId, request)
  while (!(await row())?.body.includes('$sealed')) await setImmediate()
  return request
}
const resultNow = (reactor: string, request: string, as = key) =>
  api.call('GET', `/reactors/${reactor}/results/${request}`, { key: as, once: true })

t.test(
  'a result belongs to its caller, expires after 15 minutes, and is recorded when it is read',
  async (t) => {
    const id = await reactorOf(ARGS)
    const { key: other } = await api.application('private', ['token:use'])
    const request = await finished(id, { card: `{{ ${await cardOf()} }}` })
    t.equal((await resultNow(id, request, other)).status, 404, 'only for who asked')
    t.equal((await resultNow(await reactorOf(ARGS), request)).status, 404)
    const records = async () =>
      (await manage('GET', `/logs?entity_type=reactor&entity_id=${id}`)).body.data.map(
        ({ operation, message }: { operation: string; message: string }) => `${operation} ${message}`,
      )
    const before = await records()
    t.notOk(before.includes('read Reactor result retrieved'), 'what hands out nothing leaves no record')
    const head = await api.service.call('HEAD', `/reactors/${id}/results/${request}`, { key })
    t.strictSame([head.status, head.headers.allow], [405, 'GET'], 'it would take the result unseen')
    const responses = await Promise.all(Array.from({ length: 8 }, () => resultNow(id, request)))
    t.equal(responses.filter(({ status }) => status === 200).length, 1, 'of 8 at once one gets it')
    t.ok((await records()).includes('read Reactor result retrieved'))

    const late = await finished(id, {})
    clock.advance(15 * 60_000)
    t.equal((await resultNow(id, late)).status, 404)
  },
)

t.test('"go with a token that they used": results are deleted with a deleted or expired token', async (t) => {
  const id = await reactorOf(ARGS)
  const { key: owner } = await api.application('private', ['token:create', 'token:use', 'token:delete'])
  const make = async (more: object = {}) =>
    (await api.call('POST', '/tokens', { key: owner, body: { data: 'plain-77f1', ...more } })).body.id
  const row = (request: string) =>
    api.service.store.records.get('reactor_requests', api.service.tenantId, request)

  const [gone, stays] = [await make(), await make()]
  const used = await finished(id, { a: `{{ ${gone} }}`, b: `{{ ${stays} }}` }, owner)
  const beside = await finished(id, { b: `{{ ${stays} }}` }, owner)
  const idempotent = () =>
    api.call('POST', `/reactors/${id}/react`, {
      key: owner,
      body: { args: { a: `{{ ${gone} }}` } },
      headers: { 'svc-idempotency-key': 'with a token' },
      once: true,
    })
  t.strictSame((await idempotent()).body, { raw: { a: 'plain-77f1' } })
  t.strictSame((await idempotent()).body, { raw: { a: 'plain-77f1' } })
  t.equal((await api.call('DELETE', `/tokens/${gone}`, { key: owner })).status, 204)
  t.equal(await row(used), undefined, 'nothing of it is kept')
  t.equal((await resultNow(id, used, owner)).status, 404)
  t.strictSame((await idempotent()).body, {}, 'nor is a replayed response')
  t.equal((await resultNow(id, beside, owner)).body.raw.b, 'plain-77f1')

  const expires_at = new Date(clock.now() + 60_000).toISOString()
  const expiring = await finished(id, { a: `{{ ${await make({ expires_at })} }}` }, owner)
  clock.advance(60_000)
  t.equal((await resultNow(id, expiring, owner)).status, 404)
})

t.test('no result outlives a token whose expiry is set or brought forward later', async (t) => {
  const all = ['token:create', 'token:read', 'token:update', 'token:use']
  const { id: application, key: owner } = await api.application('private', all)
  const at = (ms: number) => ({ expires_at: new Date(clock.now() + ms).toISOString() })
  const make = async (more: object = {}): Promise<string> =>
    (await api.call('POST', '/tokens', { key: owner, body: { data: 'plain-5e1d', ...more } })).body.id
  const patch = async (token: string, body: object) =>
    t.equal((await api.call('PATCH', `/tokens/${token}`, { key: owner, body })).status, 200)
  const row = (request: string) =>
    api.service.store.records.get('reactor_requests', api.service.tenantId, request)

  const byArgs = await reactorOf(ARGS)
  const byCode = await reactorOf(
    'module.exports = async ({ args, bt }) => ({ raw: await bt.tokens.retrieve(args.id) })',
    { application: { id: application } },
  )
  const ways: readonly [string, (token: string) => object][] = [
    [byArgs, (token) => ({ n: `{{ ${token} }}` })],
    [byCode, (id) => ({ id })],
  ]
  for (const [reactor, args] of ways) {
    for (const before of [{}, at(3_600_000)]) {
      const token = await make(before)
      const request = await finished(reactor, args(token), owner)
      await patch(token, at(2_000))
      t.equal(await row(request), undefined, 'its plaintext is not stored any more')
      clock.advance(2_000)
      t.equal((await api.call('GET', `/tokens/${token}`, { key: owner })).status, 404)
      t.equal((await resultNow(reactor, request, owner)).status, 404)
    }
    for (const change of [at(3_600_000), { expires_at: null }, { metadata: { color: 'red' } }]) {
      const token = await make()
      const request = await finished(reactor, args(token), owner)
      await patch(token, change)
      t.equal((await resultNow(reactor, request, owner)).status, 200, JSON.stringify(change))
    }
  }

  const updates = await reactorOf(
    `module.exports = async ({ args: { id, expires_at }, bt }) => {
      await bt.tokens.update(id, { expires_at })
      return { raw: 'updated' }
    }`,
    { application: { id: application } },
  )
  const update = (token: string, body: object) =>
    api.call('POST', `/reactors/${updates}/react`, {
      key: owner,
      body: { args: { id: token, ...body } },
      once: true,
    })
  const token = await make()
  const request = await finished(byArgs, { n: `{{ ${token} }}` }, owner)
  t.equal((await update(token, at(2_000))).status, 200)
  t.equal(await row(request), undefined, 'code that updates a token')

  const own = await make()
  const later = await finished(updates, { id: own, n: `{{ ${own} }}`, ...at(3_600_000) }, owner)
  t.equal(
    (await resultNow(updates, later, owner)).body.raw,
    'updated',
    'code that sets a later expiry keeps its result',
  )
})

t.test(
  'a token whose expiry is brought forward while the code that read it runs leaves no result',
  async (t) => {
    const { id: application, key: owner } = await api.application('private', [
      'token:create',
      'token:read',
      'token:update',
      'token:use',
    ])
    const reactor = await reactorOf(
      `module.exports = async ({ args, bt }) => {
      const raw = await bt.tokens.retrieve(args.id)
      await bt.tokens.create({ type: 'token', data: 'signal', id: args.signal })
      await new Promise((resolve) => setTimeout(resolve, 500))
      return { raw }
    }`,
      { application: { id: application } },
    )
    const token = (await api.call('POST', '/tokens', { key: owner, body: { data: 'plain-race' } })).body.id
    const signal = crypto.randomUUID()
    const started = await api.call('POST', `/reactors/${reactor}/react-async`, {
      key: owner,
      body: { args: { id: token, signal } },
      once: true,
    })
    const request: string = started.body.asyncReactorRequestId
    while ((await api.service.store.tokens.read(api.service.tenantId, [signal], clock.now())).length === 0)
      await setImmediate()
    const expires_at = new Date(clock.now() + 2_000).toISOString()
    t.equal(
      (await api.call('PATCH', `/tokens/${token}`, { key: owner, body: { expires_at }, once: true })).status,
      200,
    )
    const row = () => api.service.store.records.get('reactor_requests', api.service.tenantId, request)
    while ((await row()) !== undefined && !(await row())?.body.includes('$sealed')) await setImmediate()
    clock.advance(2_000)
    t.equal((await resultNow(reactor, request, owner)).status, 404)
  },
)

t.test('results are deleted with a token that the code read by bt, in whatever way', async (t) => {
  const all = ['token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: all }]
  const { id: application, key: owner } = await api.application('private', [], rules)
  const inner = await reactorOf(ARGS, { application: { id: application } })
  const ways: Readonly<Record<string, string>> = {
    retrieve: 'bt.tokens.retrieve(id)',
    list: 'bt.tokens.list({ id })',
    search: 'bt.tokens.search({ query: `id:${id}` })',
    detokenize: 'bt.detokenize({ a: `{{ ${id} }}` })',
    update: 'bt.tokens.update(id, { metadata: { n: "1" } })',
    react: `bt.reactors.react("${inner}", { args: { a: \`{{ \${id} }}\` } })`,
  }
  const make = async (more: object = {}): Promise<string> =>
    (await api.call('POST', '/tokens', { key: owner, body: { data: 'plain-99c3', ...more } })).body.id
  const idempotent = (id: string, token: string) =>
    api.call('POST', `/reactors/${id}/react`, {
      key: owner,
      body: { args: { id: token } },
      headers: { 'svc-idempotency-key': `${id} ${token}` },
      once: true,
    })
  for (const [way, reads] of Object.entries(ways)) {
    const code = `module.exports = async ({ args: { id }, bt }) => ({ raw: { read: await ${reads} } })`
    const id = await reactorOf(code, { application: { id: application } })
    const [changed, gone] = [await make(), await make()]
    const request = await finished(id, { id: gone }, owner)
    for (const token of [changed, gone]) {
      const first = await idempotent(id, token)
      t.match(first.text, 'plain-99c3', way)
      t.strictSame((await idempotent(id, token)).body, first.body, way)
    }
    const body = { metadata: { color: 'red' } }
    t.equal((await api.call('PATCH', `/tokens/${changed}`, { key: owner, body })).status, 200)
    t.strictSame((await idempotent(id, changed)).body, {}, `${way}, changed`)
    t.equal((await api.call('DELETE', `/tokens/${gone}`, { key: owner })).status, 204)
    t.strictSame((await idempotent(id, gone)).body, {}, `${way}, deleted`)
    t.equal((await resultNow(id, request, owner)).status, 404, way)
  }

  const read = 'module.exports = async ({ args, bt }) => ({ raw: await bt.tokens.retrieve(args.id) })'
  const id = await reactorOf(read, { application: { id: application } })
  const brief = await make({ expires_at: new Date(clock.now() + 60_000).toISOString() })
  const expiring = await finished(id, { id: brief }, owner)
  await idempotent(id, brief)
  clock.advance(60_000)
  t.equal((await resultNow(id, expiring, owner)).status, 404)
  t.strictSame((await idempotent(id, brief)).body, {})

  const deletes = `module.exports = async ({ args: { id }, bt }) => {
    const raw = await bt.tokens.retrieve(id)
    await bt.tokens.delete(id)
    return { raw }
  }`
  const deleting = await reactorOf(deletes, { application: { id: application } })
  const started = await api.call('POST', `/reactors/${deleting}/react-async`, {
    key: owner,
    body: { args: { id: await make() } },
  })
  const request: string = started.body.asyncReactorRequestId
  const row = () => api.service.store.records.get('reactor_requests', api.service.tenantId, request)
  while ((await row()) !== undefined) await setImmediate()
  t.equal((await resultNow(deleting, request, owner)).status, 404, 'it went while the code ran')
})

t.test('a token deleted while the reactor runs leaves no result', async (t) => {
  const { id: application, key: owner } = await api.application('private', [
    'token:create',
    'token:use',
    'token:delete',
  ])
  const code =
    'module.exports = async ({ args, bt }) => { await bt.tokens.delete(args.id); return { raw: args } }'
  const id = await reactorOf(code, { application: { id: application } })
  const token = (await api.call('POST', '/tokens', { key: owner, body: { data: 'plain-88a2' } })).body.id
  const body = { args: { id: token, value: `{{ ${token} }}` } }
  const started = await api.call('POST', `/reactors/${id}/react-async`, { key: owner, body })
  const request: string = started.body.asyncReactorRequestId
  const row = () => api.service.store.records.get('reactor_requests', api.service.tenantId, request)
  while ((await row()) !== undefined) await setImmediate()
  t.equal((await resultNow(id, request, owner)).status, 404)
})

t.test('a background failure is a result', async (t) => {
  const id = await throwing('new errors.AuthorizationError("may not")')
  const started = await api.call('POST', `/reactors/${id}/react-async`, { key, body: {} })
  const { status, body } = await resultOf(id, started.body.asyncReactorRequestId)
  t.equal(status, 200)
  t.match(body, { error: { status: 403, code: 'code_failed', detail: /may not/ } })
})

t.test('a reactor whose process died has a failed result', async (t) => {
  const id = await reactorOf('module.exports = () => new Promise(() => setTimeout(() => {}, 60000))')
  const started = await api.call('POST', `/reactors/${id}/react-async`, { key, body: {} })
  const path = `/reactors/${id}/results/${started.body.asyncReactorRequestId}`
  t.equal((await api.call('GET', path, { key })).status, 404)
  clock.advance(61_000)
  t.match((await api.call('GET', path, { key, once: true })).body, {
    error: { status: 504, detail: /stopped while/ },
  })
})

t.test('"With callback_url → 202", if the gateway may dial it', async (t) => {
  const id = await reactorOf(ECHO)
  const started = await react(id, { callback_url: 'https://receiver.test/hook' })
  t.equal(started.status, 202)
  t.match(started.body, { asyncReactorRequestId: /^[0-9a-f-]{36}$/ })
  for (const callback_url of ['http://receiver.test/', 'https://127.0.0.1/', 'no url'])
    t.match((await react(id, { callback_url })).body.status, /400|403/, callback_url)
})

t.test("another tenant's reactor and results do not exist", async (t) => {
  const other = await api.otherTenant()
  const theirs = await other.application(['token:use', 'token:create'])
  const id = await reactorOf(ECHO)
  t.equal((await react(id, {}, theirs)).status, 404)
  const started = await api.call('POST', `/reactors/${id}/react-async`, { key, body: {} })
  await resultOf(id, started.body.asyncReactorRequestId)
  const path = `/reactors/${id}/results/${started.body.asyncReactorRequestId}`
  t.equal((await api.call('GET', path, { key: theirs })).status, 404)
})
