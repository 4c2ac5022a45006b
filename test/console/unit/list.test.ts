import t, { type Test } from 'tap'
import type { Api } from '../../../src/console/api/client.ts'
import { listOf } from '../../../src/console/kit/list.ts'
import { signal } from '../../../src/console/kit/signals.ts'
import { withChanges } from '../../../src/console/router.ts'

const PAGES = 20

/** A list over a hash: rows are `<type><page>.<index>`. */
const open = (t: Test, hash: string, size: number) => {
  const within = new AbortController()
  t.teardown(() => within.abort())
  const filters = signal(new URLSearchParams(hash))
  const calls: string[] = []
  const call = async (
    _method: string,
    _path: string,
    { query = {} }: { query?: Record<string, unknown> } = {},
  ) => {
    const { type = '', page = 1 } = query
    calls.push(`${type}${page}`)
    return {
      pagination: { page_number: page, page_size: size, total_pages: PAGES, total_items: PAGES * size },
      data: Array.from({ length: size }, (_, index) => `${type}${page}.${index}`),
    }
  }
  const list = listOf<string>({
    api: { call } as unknown as Api,
    path: '/things',
    query: () => ({ type: filters.value.get('type') ?? '' }),
    signal: within.signal,
    size,
    filters,
    setFilters: (changes) => {
      filters.value = withChanges(filters.peek(), changes)
    },
  })
  return { list, filters, calls }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('"more" is one call, and adds its rows to those that are shown', async (t) => {
  const { list, filters, calls } = open(t, 'type=a', 2)
  await settled()
  await list.more()
  await list.more()
  await settled()
  t.strictSame(calls, ['a1', 'a2', 'a3'])
  t.strictSame(list.rows.value, ['a1.0', 'a1.1', 'a2.0', 'a2.1', 'a3.0', 'a3.1'])
  t.equal(String(filters.value), 'type=a&rows=6')
})

t.test('a list continues beyond the rows that a link loads', async (t) => {
  const { list, calls } = open(t, '', 100)
  await settled()
  for (let page = 2; page <= 8; page++) await list.more()
  await settled()
  t.equal(calls.length, 8)
  t.equal(list.rows.value.length, 800)
})

t.test('other filters load the list again; a link loads the rows that it names', async (t) => {
  const { list, filters, calls } = open(t, 'type=a&rows=4', 2)
  await settled()
  await settled()
  t.strictSame(calls, ['a1', 'a2'])
  filters.value = new URLSearchParams('type=b')
  await settled()
  t.strictSame(calls, ['a1', 'a2', 'b1'])
  t.strictSame(list.rows.value, ['b1.0', 'b1.1'])
})
