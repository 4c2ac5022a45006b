import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const { key } = await api.application('private', ['token:create', 'token:read', 'token:search'])
const idsOf = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id)
const ids: string[] = []
for (let i = 0; i < 5; i++) {
  const body = { data: `value ${i}`, search_indexes: ['{{ data }}'] }
  ids.unshift((await api.call('POST', '/tokens', { key, body })).body.id)
}

t.test('"page (default 1, ≥ 1), size (default 20, 1–100) … Newest first"', async (t) => {
  const all = await api.call('GET', '/tokens', { key })
  t.strictSame(idsOf(all), ids)
  t.strictSame(all.body.pagination, { total_items: 5, page_number: 1, page_size: 20, total_pages: 1 })
  const second = await api.call('GET', '/tokens?page=2&size=2', { key })
  t.strictSame(idsOf(second), ids.slice(2, 4))
  t.match(second.body.pagination, { total_items: 5, page_number: 2, page_size: 2, total_pages: 3 })
})

t.test('"A page past the end is 200 with empty data; page=0, size=0, size=101 are 400."', async (t) => {
  const past = await api.call('GET', '/tokens?page=9', { key })
  t.equal(past.status, 200)
  t.strictSame(past.body.data, [])
  for (const path of [
    '/tokens?page=0',
    '/tokens?size=0',
    '/tokens?size=101',
    '/v2/tokens?size=101',
    '/tokens?page=-1',
  ])
    t.equal((await api.call('GET', path, { key })).status, 400, path)
  for (const page of ['9007199254740993', '99999999999999999999']) {
    for (const [path, as] of [
      ['/applications', api.management],
      ['/tokens', key],
    ] as const) {
      const far = await api.call('GET', `${path}?page=${page}`, { key: as })
      t.equal(far.status, 200, `${path} ${page}`)
      t.strictSame(far.body.data, [])
      t.equal(far.body.pagination.page_number, Number.MAX_SAFE_INTEGER)
    }
  }
  for (const page of [0, 1.5, 'x'])
    t.equal(
      (await api.call('POST', '/tokens/search', { key, body: { query: 'type:token', page } })).status,
      400,
    )
})

t.test('"Cursor list: start (opaque, ≤ 500 characters), size; … next absent at the end"', async (t) => {
  const walked: string[] = []
  let path = '/v2/tokens?size=2'
  for (let pages = 0; pages < 4; pages++) {
    const page = await api.call('GET', path, { key })
    t.equal(page.status, 200)
    walked.push(...idsOf(page))
    const { next } = page.body.pagination
    if (next === undefined) break
    t.ok(next.length <= 500)
    path = `/v2/tokens?size=2&start=${encodeURIComponent(next)}`
  }
  t.strictSame(walked, ids)
  t.equal((await api.call('GET', '/v2/tokens?start=nonsense', { key })).status, 400)
})

t.test('"Always consistent: a token is findable in the answer after its create."', async (t) => {
  for (const path of ['/tokens/search', '/v2/tokens/search']) {
    const matches = await api.call('POST', path, { key, body: { query: 'data:"value 3"', size: 5 } })
    t.equal(matches.status, 200)
    t.strictSame(idsOf(matches), [ids[1]])
  }
})

t.test('a "name" filter is as long as a name may be, 200 characters', async (t) => {
  for (const path of ['/applications', '/proxies', '/reactors', '/reactor-formulas'])
    for (const [length, status] of [
      [200, 200],
      [201, 400],
    ] as const) {
      const response = await api.call('GET', `${path}?name=${'a'.repeat(length)}`, { key: api.management })
      t.equal(response.status, status, `${path} ${length}`)
    }
})
