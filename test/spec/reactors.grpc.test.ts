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

t.test('"Objects embed formula and application."', async (t) => {
  const formula = await formulaOf([{ name: 'KEY', type: 'string' }])
  const { status, body } = await create({
    formula: { id: formula.id, name: 'other members do not count' },
    configuration: { KEY: 'abc', MORE: 1 },
    application: { id: privateId },
  })
  t.equal(status, 201)
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
  const own = (await create({ code: CODE })).body
  t.equal(own.code, CODE)
  t.notOk('formula' in own || 'application' in own)
  t.strictSame(own.configuration, {})
})

t.test('"Exactly one of formula and code."', async (t) => {
  const { id } = await formulaOf()
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

t.test('"PATCH (merge) 204"', async (t) => {
  const { id } = (await create({ code: CODE, configuration: { x: '1', y: '2' } })).body
  t.equal((await send('PATCH', `/reactors/${id}`, { configuration: { x: null, z: '3' } })).status, 204)
  t.strictSame((await send('GET', `/reactors/${id}`)).body.configuration, { y: '2', z: '3' })
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
