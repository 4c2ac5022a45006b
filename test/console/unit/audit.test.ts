import t from 'tap'
import type { LogEntry } from '../../../src/console/api/types.ts'
import { fromLocal, toLocal } from '../../../src/console/kit/time.ts'
import { chainOf } from '../../../src/console/screens/audit/chain.ts'
import { entityLink } from '../../../src/console/screens/audit/entity-link.ts'
import { exportLogs } from '../../../src/console/screens/audit/export.ts'
import { isFiltered, queryOf } from '../../../src/console/screens/audit/filters.ts'
import { rowsOf, summaryOf } from '../../../src/console/screens/audit/rows.ts'

t.test('filters of the URL hash become the query; others are omitted', async (t) => {
  const filters = new URLSearchParams(
    'entity_type=card&entity_id=%20a%26b%20&actor_id=c&rows=100&start_date=',
  )
  const query = queryOf(filters)
  t.same(JSON.parse(JSON.stringify(query)), { entity_type: 'card', entity_id: 'a&b', actor_id: 'c' })
  t.ok(isFiltered(query))
  t.notOk(isFiltered(queryOf(new URLSearchParams('rows=100'))))
})

t.test('times of inputs match those of the URL hash, by the minute', async (t) => {
  const iso = '2026-03-01T12:30:00.000Z'
  t.equal(fromLocal(toLocal(iso)), iso)
  t.match(toLocal(iso), /^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  for (const text of [undefined, '', 'yesterday']) t.equal(toLocal(text), '')
  t.equal(fromLocal(''), undefined)
})

t.test('entities link to pages that the session may see, with encoded ids', async (t) => {
  const all = () => true
  t.equal(entityLink('card', 'a/../b', all), '#/tokens/a%2F..%2Fb')
  t.equal(entityLink('application', 'x', all), '#/applications/x')
  t.equal(entityLink('reactor_formula', 'x', all), '#/formulas/x')
  t.equal(entityLink('application_key', 'x', all), undefined)
  t.equal(entityLink('card', '', all), undefined)
  t.equal(entityLink('constructor', 'x', all), '#/tokens/x')
  t.equal(
    entityLink('proxy', 'x', (permission) => permission !== 'proxy:read'),
    undefined,
  )
})

const chain = (figures: Record<string, number>) =>
  chainOf(
    { sum: (name) => figures[name] },
    {
      components: [
        { name: 'audit', status: 'degraded' },
        { name: 'disk', status: 'degraded' },
        { name: 'journal', status: 'ok' },
      ],
    },
  )

t.test('the chain is shown as intact, broken, or not verified yet', async (t) => {
  t.equal(chain({}).state, 'not verified yet')
  t.equal(chain({ audit_rows_verified_timestamp_seconds: 1_000 }).state, 'intact')
  t.equal(chain({ audit_rows_verified_timestamp_seconds: 1_000 }).verifiedAt, 1_000_000)
  t.equal(chain({ audit_rows_verified_timestamp_seconds: 1, audit_rows_broken_journals: 1 }).state, 'broken')
  t.equal(chain({ audit_journals_broken: 1 }).state, 'broken')
  t.same(
    chain({}).components.map(({ name }) => name),
    ['audit'],
  )
})

/** Records of a page of an export. */
const PAGE = 1_000

const record = (at: number): LogEntry => ({
  tenant_id: 't',
  entity_type: 'card',
  entity_id: `\n"${at}`,
  operation: 'read',
  message: 'Card retrieved',
  created_at: '2026-03-01T12:30:00.000Z',
})

const pages =
  (records: readonly LogEntry[]) =>
  async ({ start = '0', size }: { start?: string; size: number }) => {
    const end = Number(start) + size
    return {
      pagination: {
        page_size: size,
        ...(start === '0' ? { total_items: records.length } : {}),
        ...(end < records.length ? { next: String(end) } : {}),
      },
      data: records.slice(Number(start), end),
    }
  }

t.test(
  'records of tokens by one call are one row; other calls, operations and entities are not in it',
  async (t) => {
    const read = { ...record(1), trace_id: 'a', actor_id: 'one', created_at: 'now' }
    const card = { ...read, disclosure: 'mask' as const }
    const bank = {
      ...read,
      entity_type: 'bank',
      message: 'Bank account retrieved',
      disclosure: 'mask' as const,
    }
    const proxy = { ...read, entity_type: 'proxy' }
    const { trace_id: _, ...untraced } = read
    const others = [
      { ...card, created_at: 'later' },
      { ...card, operation: 'use' },
      { ...card, actor_id: 'two' },
      { ...card, trace_id: 'b' },
    ]
    const rows = rowsOf([card, ...others, bank, proxy, proxy, untraced, untraced, card])
    t.strictSame(
      rows.map(({ records }) => records.length),
      [3, 1, 1, 1, 1, 1, 1, 1, 1],
    )
    t.equal(new Set(rows.map(({ key }) => key)).size, rows.length)
    t.equal(summaryOf(rows[0]?.records ?? []), 'Card retrieved: masked × 2, Bank account retrieved: masked')
    t.equal(summaryOf([{ ...read, message: 'Labeled', labels: { a: 'b', c: 'd' } }]), 'Labeled: a=b, c=d')
    t.equal(
      summaryOf([card, bank, read, { ...read, message: 'x' }])
        .split(', ')
        .at(-1),
      '2 more',
    )
  },
)

t.test('an export has one record per line, of all pages', async (t) => {
  const records = Array.from({ length: 2 * PAGE + 1 }, (_, at) => record(at))
  const seen: unknown[] = []
  const { signal } = new AbortController()
  const file = await exportLogs(pages(records), { signal, onProgress: (now) => seen.push(now) })
  const lines = (await file.text()).trimEnd().split('\n')
  t.same(
    lines.map((line) => JSON.parse(line)),
    records,
  )
  const total = records.length
  t.same(seen, [
    { records: PAGE, total },
    { records: 2 * PAGE, total },
    { records: total, total },
  ])
})

t.test('an aborted or failed export creates no file', async (t) => {
  const records = Array.from({ length: 2 * PAGE }, (_, at) => record(at))
  const controller = new AbortController()
  const abort = () => controller.abort()
  await t.rejects(exportLogs(pages(records), { signal: controller.signal, onProgress: abort }), {
    name: 'AbortError',
  })
  const fails = () => Promise.reject(new Error('boo'))
  await t.rejects(exportLogs(fails, { signal: new AbortController().signal, onProgress: () => {} }), /boo/)
})
