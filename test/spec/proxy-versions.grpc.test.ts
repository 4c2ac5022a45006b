import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const send = (method: string, path: string, body?: object, key = api.management) =>
  api.call(method, path, { key, ...(body ? { body } : {}) })
const code = (text: string) => ({
  code: `module.exports = async ({ args }) => ({ ...args, note: '${text}' })`,
})
const create = async (body: object = {}) =>
  (await send('POST', '/proxies', { name: 'p', destination_url: 'https://api.example.com', ...body })).body
    .id as string
const patch = async (id: string, body: object) => {
  const { status, text } = await send('PATCH', `/proxies/${id}`, body)
  if (status !== 204) throw new Error(text)
}
const versionsOf = async (id: string, query = '') =>
  (await send('GET', `/proxies/${id}/versions${query}`)).body

t.test('"the current code is the newest"', async (t) => {
  const id = await create({ request_transform: code('one') })
  const first = api.time()
  api.clock.advance(60_000)
  const second = api.time()
  await patch(id, { name: 'another', configuration: { a: 1 } })
  t.equal((await versionsOf(id)).data.length, 1, 'other members have no versions')
  await patch(id, { request_transform: code('two'), response_transform: code('response') })
  const { pagination, data } = await versionsOf(id)
  t.equal(pagination.total_items, 2)
  t.strictSame(
    data.map((version: { created_by: string }) => ({ ...version, created_by: typeof version.created_by })),
    [
      {
        version: 2,
        created_at: second,
        created_by: 'string',
        request_transform: code('two'),
        response_transform: code('response'),
      },
      { version: 1, created_at: first, created_by: 'string', request_transform: code('one') },
    ],
  )
})

t.test('"restoring is a `PATCH`"', async (t) => {
  const id = await create({ request_transform: code('one') })
  await patch(id, { request_transform: null })
  const [current, former] = (await versionsOf(id)).data
  t.notOk('request_transform' in current)
  await patch(id, { request_transform: former.request_transform })
  const { data } = await versionsOf(id)
  t.strictSame(
    data.map((version: { version: number }) => version.version),
    [3, 2, 1],
  )
  t.strictSame(data[0].request_transform, code('one'))
  t.strictSame((await send('GET', `/proxies/${id}`)).body.request_transform, code('one'))
})

t.test('"the newest 20"', async (t) => {
  const id = await create()
  for (let n = 2; n <= 23; n++) await patch(id, { response_transform: code(`${n}`) })
  const { pagination, data } = await versionsOf(id, '?size=100')
  t.equal(pagination.total_items, 20)
  t.strictSame(
    data.map((version: { version: number }) => version.version),
    Array.from({ length: 20 }, (_, at) => 23 - at),
  )
  t.strictSame(
    (await versionsOf(id, '?size=3&page=7')).data.map((version: { version: number }) => version.version),
    [5, 4],
  )
  const { store, tenantId } = api.service
  const { rows } = await store.records.find('proxy_versions', tenantId, { where: { proxy_id: id } })
  t.equal(rows.length, 19, 'older ones are removed')
})

t.test('"newest 20 versions of a stored proxy": none after it was deleted', async (t) => {
  const id = await create({ request_transform: code('one') })
  await patch(id, { request_transform: code('two') })
  t.equal((await send('DELETE', `/proxies/${id}`)).status, 204)
  t.equal((await send('GET', `/proxies/${id}/versions`)).status, 404)
  t.equal((await send('DELETE', `/proxies/${id}`)).status, 404)
})

t.test('another tenant sees no versions, nor does a caller without proxy:read', async (t) => {
  const id = await create({ request_transform: code('one') })
  const { key } = await api.otherTenant()
  t.equal((await send('GET', `/proxies/${id}/versions`, undefined, key)).status, 404)
  const { key: lacking } = await api.application('management', ['proxy:update'])
  t.equal((await send('GET', `/proxies/${id}/versions`, undefined, lacking)).status, 403)
})
