import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const send = (path: string, body: object, key = api.management) => api.call('POST', path, { key, body })

const BAD = 'module.exports = async ({ args }) => ({\n  raw: })'
const GOOD = 'module.exports = async ({ args }) => ({ raw: args })'
const place = { line: 2, column: 8, message: "Unexpected token '}'" }

t.test('POST /proxies/check-code reports the place of an error in each transform', async (t) => {
  const { status, body } = await send('/proxies/check-code', {
    request_transform: { code: BAD },
    response_transform: { code: GOOD },
  })
  t.equal(status, 200)
  t.strictSame(body, { warnings: [{ path: 'request_transform.code', ...place }] })
  t.strictSame((await send('/proxies/check-code', {})).body, { warnings: [] })
  t.strictSame((await send('/proxies/check-code', { request_transform: null })).body, { warnings: [] })
})

t.test('POST /reactors/check-code reports the place of an error', async (t) => {
  t.strictSame((await send('/reactors/check-code', { code: BAD })).body, {
    warnings: [{ path: 'code', ...place }],
  })
  t.strictSame((await send('/reactors/check-code', { code: GOOD })).body, { warnings: [] })
})

t.test('a check has the limits of a save, and saves nothing', async (t) => {
  const long = 'a'.repeat(50_001)
  t.equal((await send('/proxies/check-code', { request_transform: { code: long } })).status, 400)
  t.equal((await send('/reactors/check-code', { code: long })).status, 400)
  t.equal((await send('/reactors/check-code', {})).status, 400)
  const list = await api.call('GET', '/proxies', { key: api.management })
  t.equal(list.body.pagination.total_items, 0)
})
