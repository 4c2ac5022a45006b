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
  const defaulted = await create({ request_parameters: [{ name: 'a', type: 'string' }] })
  t.strictSame(defaulted.request_parameters, [{ name: 'a', type: 'string', optional: false }])
  for (const type of ['png', 'jpg', 'jpeg'])
    t.equal((await create({ icon: `data:image/${type};base64,AAAA` })).icon, `data:image/${type};base64,AAAA`)
})

t.test('"Update | PUT /reactor-formulas/{id} | Same body fields and rules as Create."', async (t) => {
  const created = await create({ description: 'old', icon: 'data:image/png;base64,AAAA' })
  const { body } = await send('PUT', `/reactor-formulas/${created.id}`, BODY)
  t.notOk('description' in body || 'icon' in body, 'what is left out is removed')
  t.match((await create({ code: 'module.exports = (' })).warnings, [{ path: 'code', line: 1 }])
})
