import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const send = (method: string, path: string, body?: object, as = key) =>
  api.call(method, path, { key: as, ...(body ? { body } : {}) })
const CODE = 'module.exports = async (req) => ({ raw: req.args })'
const BODY = { name: 'Lookup', type: 'private', code: CODE, configuration: [], request_parameters: [] }
const create = async (more: object = {}) =>
  (await send('POST', '/reactor-formulas', { ...BODY, ...more })).body

t.test('"Create | POST /reactor-formulas | … The Reactor Formula"', async (t) => {
  const { body: application } = await api.call('GET', '/applications/key', { key })
  const minimal = await send('POST', '/reactor-formulas', { name: 'x', type: 'official', code: CODE })
  t.equal(minimal.status, 201)
  t.match(minimal.headers.location, new RegExp(`/reactor-formulas/${minimal.body.id}$`))
  t.strictSame(minimal.body, {
    id: minimal.body.id,
    name: 'x',
    type: 'official',
    status: 'verified',
    code: CODE,
    configuration: [],
    request_parameters: [],
    created_by: application.id,
    created_at: api.time(),
  })
  const full = {
    ...BODY,
    description: 'Finds what is to be found',
    icon: 'data:image/png;base64, iVBORw0KGgo=',
    configuration: [
      { name: 'API_KEY', description: 'Key', type: 'string' },
      { name: 'LIMIT', type: 'number' },
      { name: 'LIVE', type: 'boolean' },
    ],
    request_parameters: [
      { name: 'card.number', description: 'Number', type: 'string', optional: false },
      { name: 'amount', type: 'number', optional: true },
    ],
  }
  const created = await create(full)
  t.match(created, full)
  t.equal(created.icon, full.icon, '"kept byte for byte"')
  t.strictSame((await send('GET', `/reactor-formulas/${created.id}`)).body, created)
  const defaulted = await create({ request_parameters: [{ name: 'a', type: 'string' }] })
  t.strictSame(defaulted.request_parameters, [{ name: 'a', type: 'string', optional: false }])
  for (const type of ['png', 'jpg', 'jpeg'])
    t.equal((await create({ icon: `data:image/${type};base64,AAAA` })).icon, `data:image/${type};base64,AAAA`)
})

t.test('"an error on validation failure"', async (t) => {
  const element = { name: 'a', type: 'string' }
  const wrong: [object, string][] = [
    [{ name: undefined }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ description: 'x'.repeat(1_001) }, 'description'],
    [{ type: undefined }, 'type'],
    [{ type: 'public' }, 'type'],
    [{ icon: 'https://example.com/icon.png' }, 'icon'],
    [{ icon: 'data:image/gif;base64,AAAA' }, 'icon'],
    [{ icon: 'data:image/png;base64,<svg>' }, 'icon'],
    [{ icon: `data:image/png;base64,${'A'.repeat(50_000)}` }, 'icon'],
    [{ code: undefined }, 'code'],
    [{ code: '' }, 'code'],
    [{ code: ' '.repeat(50_001) }, 'code'],
    [{ configuration: [{ ...element, name: 'a.b' }] }, 'configuration[0].name'],
    [{ configuration: [{ name: 'a' }] }, 'configuration[0].type'],
    [{ configuration: [{ ...element, type: 'object' }] }, 'configuration[0].type'],
    [{ configuration: [element, element] }, 'configuration[1].name'],
    [
      { configuration: Array.from({ length: 26 }, (_, i) => ({ ...element, name: `n${i}` })) },
      'configuration',
    ],
    [{ configuration: { a: 'string' } }, 'configuration'],
    [{ request_parameters: [{ ...element, name: 'a..b' }] }, 'request_parameters[0].name'],
    [{ request_parameters: [{ ...element, name: '.a' }] }, 'request_parameters[0].name'],
    [{ request_parameters: [element, element] }, 'request_parameters[1].name'],
    [{ request_parameters: [{ ...element, type: 'date' }] }, 'request_parameters[0].type'],
    [{ request_parameters: [{ ...element, optional: 'yes' }] }, 'request_parameters[0].optional'],
  ]
  const retained = await create()
  const count = async () => (await send('GET', '/reactor-formulas')).body.pagination.total_items
  const before = await count()
  for (const [more, path] of wrong)
    for (const [method, target] of [
      ['POST', '/reactor-formulas'],
      ['PUT', `/reactor-formulas/${retained.id}`],
    ] as const) {
      const response = await send(method, target, { ...BODY, ...more })
      t.equal(response.status, 400, JSON.stringify(more).slice(0, 80))
      t.ok(response.body.errors?.[path], `${path} in ${response.text}`)
    }
  t.equal(await count(), before, 'nothing is created')
  t.strictSame((await send('GET', `/reactor-formulas/${retained.id}`)).body, retained, 'nor changed')
})

t.test('"List | GET /reactor-formulas | name (string, wildcard search)"', async (t) => {
  await create({ name: 'Wild Horse' })
  await create({ name: 'wild boar', type: 'official' })
  const names = async (query: string) =>
    (await send('GET', `/reactor-formulas?${query}`)).body.data.map(({ name }: { name: string }) => name)
  t.strictSame(await names('name=wild'), ['wild boar', 'Wild Horse'], '"official and private"')
  t.strictSame(await names('name=*HORSE'), ['Wild Horse'])
  t.strictSame(await names('name=wild%20b??r'), ['wild boar'])
  t.strictSame(await names('name=none'), [])
})

t.test('"Update | PUT /reactor-formulas/{id} | Same body fields and rules as Create."', async (t) => {
  const created = await create({ description: 'old', icon: 'data:image/png;base64,AAAA' })
  api.clock.advance(1_000)
  const { body: application } = await api.call('GET', '/applications/key', { key })
  const { status, body } = await send('PUT', `/reactor-formulas/${created.id}`, { ...BODY, name: 'New' })
  t.equal(status, 200)
  t.strictSame(body, {
    ...BODY,
    id: created.id,
    name: 'New',
    status: 'verified',
    created_by: created.created_by,
    created_at: created.created_at,
    modified_by: application.id,
    modified_at: api.time(),
  })
  t.match((await create({ code: 'module.exports = (' })).warnings, [{ path: 'code', line: 1 }])
})

t.test('"Delete | DELETE /reactor-formulas/{id} | No payload"', async (t) => {
  const { id } = await create()
  t.equal((await send('DELETE', `/reactor-formulas/${id}`)).status, 204)
  for (const [method, body] of [['GET'], ['DELETE'], ['PUT', BODY]] as const)
    t.equal((await send(method, `/reactor-formulas/${id}`, body)).status, 404)
  const { body } = await send('GET', `/logs?entity_id=${id}`)
  t.match(body.data, [
    { operation: 'delete', entity_type: 'reactor_formula' },
    { operation: 'create', message: 'Reactor formula created' },
  ])
})
