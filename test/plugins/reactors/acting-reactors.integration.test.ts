import Database from 'better-sqlite3'
import t from 'tap'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const CODE = 'module.exports = ({ args }) => ({ raw: args })'
const FORMULA = { name: 'f', type: 'private', code: CODE }

const service = await startTestService(t, { openStore: openInThread })
const { managementKey } = service

const call = async (method: string, path: string, body?: object, key = managementKey) => {
  const { status, json } = await service.call(method, path, {
    key,
    body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return { status, body: json }
}
const application = async (body: object) => (await call('POST', '/applications', { name: 'a', ...body })).body
const create = async (path: string, body: object): Promise<string> => {
  const { status, body: created } = await call('POST', path, body)
  t.equal(status, 201, path)
  return created.id
}

const updater = await application({ type: 'management', permissions: ['reactor:update'] })
/** A change of the code by a caller that is no administrator. */
const change = async (formula: string) =>
  (await call('PUT', `/reactor-formulas/${formula}`, FORMULA, updater.key)).status

const rules = [
  { description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] },
]
const { id: actingId } = await application({ type: 'private', rules })
const acting = { name: 'r', application: { id: actingId } }

t.test('PUT /reactor-formulas/{id} returns 403 while a reactor of the formula acts', async (t) => {
  const formula = await create('/reactor-formulas', FORMULA)
  const other = await create('/reactor-formulas', FORMULA)
  await create('/reactors', { name: 'r', formula: { id: formula } })
  t.equal(await change(formula), 200, 'a reactor without an application')
  const [first, second] = [
    await create('/reactors', { ...acting, formula: { id: formula } }),
    await create('/reactors', { ...acting, formula: { id: formula } }),
  ]
  t.equal(await change(formula), 403)
  t.equal((await call('PUT', `/reactors/${first}`, { ...acting, formula: { id: other } })).status, 200)
  t.equal(await change(formula), 403, 'the second one still acts')
  t.equal(await change(other), 403)
  t.equal((await call('DELETE', `/reactors/${second}`)).status, 204)
  t.equal(await change(formula), 200)
  t.equal((await call('PATCH', `/reactors/${first}`, { application: null })).status, 204)
  t.equal(await change(other), 200)
  t.equal((await call('PUT', `/reactors/${first}`, { ...acting, formula: { id: other } })).status, 200)
  t.equal((await call('PUT', `/reactors/${first}`, { ...acting, code: CODE })).status, 200)
  t.equal(await change(other), 200, 'code of its own')
  t.notOk('acting_reactors' in (await call('GET', `/reactor-formulas/${formula}`)).body)
})

t.test('a database writer that hides rows cannot change code that acts', async (t) => {
  const formula = await create('/reactor-formulas', FORMULA)
  const reactor = await create('/reactors', { ...acting, formula: { id: formula } })
  t.equal(await change(formula), 403)
  const db = new Database(service.location)
  t.teardown(() => db.close())
  db.pragma('foreign_keys = off')
  db.prepare("delete from record_indexes where member = 'formula_id' and value = ?").run(formula)
  t.equal(await change(formula), 403, 'the index')
  for (const id of [reactor, actingId]) db.prepare('delete from records where id = ?').run(id)
  db.prepare('update changes set version = version + 1').run()
  t.equal(await change(formula), 403, 'the reactor and its application')
})
