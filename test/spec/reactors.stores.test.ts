import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const send = (method: string, path: string, body?: object, as = key) =>
  api.call(method, path, { key: as, ...(body ? { body } : {}) })
const CODE = 'module.exports = async (req) => ({ raw: req.args })'
const formulaOf = async (configuration: object[] = []) =>
  (
    await send('POST', '/reactor-formulas', {
      name: 'Formula',
      type: 'private',
      code: CODE,
      configuration,
      request_parameters: [],
    })
  ).body
const create = (body: object) => send('POST', '/reactors', { name: 'Reactor', ...body })
const { id: privateId } = await api.application('private', ['token:use'])
const { id: managementId } = await api.application('management', ['log:read'])

t.test('"Objects embed formula and application."', async (t) => {
  const formula = await formulaOf([{ name: 'KEY', type: 'string' }])
  const { status, body, headers } = await create({
    formula: { id: formula.id, name: 'other members do not count' },
    configuration: { KEY: 'abc', MORE: 1 },
    application: { id: privateId },
  })
  t.equal(status, 201)
  t.match(headers.location, new RegExp(`/reactors/${body.id}$`))
  t.match(body, {
    id: /^[0-9a-f-]{36}$/,
    tenant_id: /^[0-9a-f-]{36}$/,
    name: 'Reactor',
    formula,
    configuration: { KEY: 'abc', MORE: 1 },
    application: { id: privateId, type: 'private', permissions: ['token:use'] },
    created_at: api.time(),
  })
  t.notOk('code' in body)
  t.strictSame((await send('GET', `/reactors/${body.id}`)).body, body)
  const own = (await create({ code: CODE })).body
  t.equal(own.code, CODE)
  t.notOk('formula' in own || 'application' in own)
  t.strictSame(own.configuration, {})
})

t.test('"Exactly one of formula and code."', async (t) => {
  const { id } = await formulaOf()
  t.ok((await create({ formula: { id }, code: CODE })).body.errors.code)
  t.ok((await create({})).body.errors.formula)
  t.ok((await create({ code: CODE, configuration: { a: 'x'.repeat(50_000) } })).body.errors.configuration)
  t.ok((await create({ formula: null, code: null })).body.errors.formula)
  const reactor = (await create({ code: CODE })).body
  const patch = (body: object) => send('PATCH', `/reactors/${reactor.id}`, body)
  t.equal((await patch({ formula: { id } })).status, 400)
  t.equal((await patch({ formula: { id }, code: null })).status, 204)
  t.match((await send('GET', `/reactors/${reactor.id}`)).body, { formula: { id } })
})

t.test(
  '"configuration must satisfy the formula\'s elements by name; values may be given as strings"',
  async (t) => {
    const formula = await formulaOf([
      { name: 'S', type: 'string' },
      { name: 'N', type: 'number' },
      { name: 'B', type: 'boolean' },
    ])
    const configured = (configuration: object) => create({ formula: { id: formula.id }, configuration })
    for (const values of [
      { S: 's', N: 1, B: true },
      { S: '', N: '1', B: 'false' },
      { S: 's', N: 'any text that a client sends', B: 'true' },
    ]) {
      const response = await configured(values)
      t.equal(response.status, 201)
      t.strictSame(response.body.configuration, values, 'as sent')
    }
    for (const [values, path] of [
      [{ S: 's', N: 1 }, 'configuration.B'],
      [{ S: null, N: 1, B: true }, 'configuration.S'],
      [{ S: 5, N: 1, B: true }, 'configuration.S'],
      [{ S: 's', N: {}, B: true }, 'configuration.N'],
      [{ S: 's', N: 1, B: 'yes' }, 'configuration.B'],
      [{}, 'configuration.N'],
    ] as const) {
      const response = await configured(values)
      t.equal(response.status, 400)
      t.ok(response.body.errors[path], response.text)
    }
  },
)

t.test('other validation rules, which create or change nothing', async (t) => {
  const reactor = (await create({ code: CODE })).body
  const other = await api.otherTenant()
  const theirs = await send(
    'POST',
    '/reactor-formulas',
    { name: 'x', type: 'private', code: CODE },
    other.key,
  )
  const wrong: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ code: undefined, formula: { id: 'unknown' } }, 'formula.id'],
    [{ code: undefined, formula: { id: theirs.body.id } }, 'formula.id'],
    [{ code: 'x'.repeat(50_001) }, 'code'],
    [{ application: { id: managementId } }, 'application.id'],
    [{ application: { id: 'unknown' } }, 'application.id'],
    [
      { configuration: Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`k${i}`, 1])) },
      'configuration',
    ],
  ]
  const count = async () => (await send('GET', '/reactors')).body.pagination.total_items
  const before = await count()
  for (const [more, path] of wrong)
    for (const [method, target] of [
      ['POST', '/reactors'],
      ['PUT', `/reactors/${reactor.id}`],
    ] as const) {
      const response = await send(method, target, { name: 'x', code: CODE, ...more })
      t.equal(response.status, 400, JSON.stringify(more).slice(0, 80))
      t.ok(response.body.errors?.[path], `${path} in ${response.text}`)
    }
  t.equal(await count(), before)
  t.strictSame((await send('GET', `/reactors/${reactor.id}`)).body, reactor)
})

t.test('"GET list (id, name) … PUT 200 · PATCH 204 · DELETE 204"', async (t) => {
  const [a, b] = [
    (await create({ name: 'Listed A', code: CODE, configuration: { x: '1', y: '2' } })).body,
    (await create({ name: 'Listed B', code: CODE })).body,
  ]
  const names = async (query: string) =>
    (await send('GET', `/reactors?${query}`)).body.data.map(({ name }: { name: string }) => name)
  t.strictSame(await names('name=listed'), ['Listed B', 'Listed A'])
  t.strictSame(await names(`id=${a.id}`), ['Listed A'])
  const put = await send('PUT', `/reactors/${b.id}`, { name: 'Replaced', code: CODE })
  t.equal(put.status, 200)
  t.match(put.body, { id: b.id, name: 'Replaced', created_at: b.created_at, modified_at: api.time() })
  t.equal((await send('PATCH', `/reactors/${a.id}`, { configuration: { x: null, z: '3' } })).status, 204)
  t.strictSame((await send('GET', `/reactors/${a.id}`)).body.configuration, { y: '2', z: '3' })
  t.equal((await send('PATCH', `/reactors/${a.id}`, { name: null })).status, 400)
  t.equal((await send('DELETE', `/reactors/${a.id}`)).status, 204)
  for (const [method, body] of [
    ['GET'],
    ['DELETE'],
    ['PATCH', {}],
    ['PUT', { name: 'x', code: CODE }],
  ] as const)
    t.equal((await send(method, `/reactors/${a.id}`, body)).status, 404, method)
})

t.test('"Deleting a formula in use → 409", also while reactors are created', async (t) => {
  const formula = await formulaOf()
  const reactor = (await create({ formula: { id: formula.id } })).body
  t.equal((await send('DELETE', `/reactor-formulas/${formula.id}`)).status, 409)
  await send('DELETE', `/reactors/${reactor.id}`)
  t.equal((await send('DELETE', `/reactor-formulas/${formula.id}`)).status, 204)
  t.equal((await create({ formula: { id: formula.id } })).status, 400)
  for (let round = 0; round < 5; round++) {
    const { id } = await formulaOf()
    const [made, gone] = await Promise.all([
      create({ formula: { id } }),
      send('DELETE', `/reactor-formulas/${id}`),
    ])
    const outcome = `${made.status} ${gone.status}`
    t.ok(outcome === '201 409' || outcome === '400 204', outcome)
  }
})
