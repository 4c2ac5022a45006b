import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LogFilter, SearchNode, Store, TokenListQuery, Visibility } from '../../../src/store/types.ts'
import { NOW } from '../kit.ts'
import { fillLogs, fillTokens, TENANT } from './filled.ts'
import { tracedStore } from './kit.ts'

const SIZE = 20
/** Page 10,000 of 20, and some more behind it. */
const ROWS = 210_000
/** Bytes of a page of SQLite. */
const PAGE = 4_096

const directory = t.testdir({})
const { store, db } = tracedStore(join(directory, 'a.db'))
const small = tracedStore(join(directory, 'small.db'))
t.teardown(async () => {
  await store.close()
  await small.store.close()
})
fillTokens(db, 1, ROWS + 1)
fillTokens(small.db, 1, ROWS / 20 + 1)
for (const { tokens } of [store, small.store]) while (await tokens.tally(20, 4_096));

type Work = () => Promise<unknown>

/** Bytes that this thread has read (proc_pid_io(5)). */
const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1])

/** Pages of the database that `work` visits: none is kept from one visit to the next, so each is read. */
const pagesOf = async (work: Work): Promise<number> => {
  await work() // its statements are prepared
  const before = bytesRead()
  const between = bytesRead() - before // what looking costs
  await work()
  return Math.round((bytesRead() - before - 2 * between) / PAGE)
}

/** Passes when `work` visits at most `factor` times as many pages as `base`. */
const costsAtMost = async (t: Test, name: string, factor: number, base: Work, work: Work) => {
  for (const connection of [db, small.db]) connection.pragma('cache_size = 0')
  const [least, ours] = [await pagesOf(base), await pagesOf(work)]
  for (const connection of [db, small.db]) connection.pragma('cache_size = -16000')
  t.ok(least > 0 && ours <= least * factor, `${name}: ${ours} pages, at most ${factor} × ${least}`)
}

const under = (value: string): Visibility => [[{ attribute: 'container', operator: 'starts_with', value }]]
const and = (...nodes: SearchNode[]): SearchNode => ({ kind: 'and', nodes })
const term: SearchNode = { kind: 'term', term: Buffer.from('term-77') }
const metadata: SearchNode = { kind: 'metadata', key: 'n', value: '77' }
const card: SearchNode = { kind: 'equals', field: 'type', value: 'card' }
const red: SearchNode = { kind: 'metadata', key: 'color', value: 'red' }
const created = (from: number, to: number): SearchNode => ({
  kind: 'range',
  field: 'created_at',
  from: { value: NOW + from, inclusive: true },
  to: { value: NOW + to, inclusive: true },
})
const fingerprint: SearchNode = { kind: 'equals', field: 'fingerprint', value: 'fp-77' }

type Query = Pick<TokenListQuery, 'visibility'> & { readonly where?: SearchNode }

const SEARCHES: Readonly<Record<string, Query>> = {
  'data:…': { visibility: 'all', where: term },
  'data:… of a caller who sees some containers': { visibility: under('/c'), where: term },
  'metadata.n:77': { visibility: 'all', where: metadata },
  'metadata.n:77 AND type:card AND data:…': { visibility: 'all', where: and(metadata, card, term) },
  'fingerprint:…': { visibility: 'all', where: fingerprint },
  'id:… OR id:…': {
    visibility: 'all',
    where: { kind: 'or', nodes: ['id-1', 'id-77'].map((value) => ({ kind: 'equals', field: 'id', value })) },
  },
  'type:card': { visibility: 'all', where: card },
  'container:/c1/': { visibility: 'all', where: { kind: 'equals', field: 'container', value: '/c1/' } },
  'created_at:[a TO b]': { visibility: 'all', where: created(2_000, 1_500_000) },
  'created_at:[a TO b] of a caller who sees some containers': {
    visibility: under('/c'),
    where: created(2_500, 9_000_111),
  },
  'created_at:[a TO b] AND type:card': { visibility: 'all', where: and(created(2_000, 9_000_000), card) },
  'created_by:…': {
    visibility: 'all',
    where: { kind: 'equals', field: 'created_by', value: 'application-1' },
  },
  'metadata.color:red AND type:card': { visibility: 'all', where: and(red, card) },
  'NOT metadata.color:red': { visibility: 'all', where: { kind: 'not', node: red } },
  'metadata.color:red AND created_by:…': {
    visibility: 'all',
    where: and(red, { kind: 'equals', field: 'created_by', value: 'application-1' }),
  },
  'metadata.color:red AND created_at:[a TO b] of a caller who sees some containers': {
    visibility: under('/c'),
    where: and(red, created(2_000, 9_000_000)),
  },
  'metadata.color:red OR type:card': { visibility: 'all', where: { kind: 'or', nodes: [red, card] } },
  'data:… AND NOT type:card': { visibility: 'all', where: and(term, { kind: 'not', node: card }) },
}

const search =
  ({ tokens }: Store, query: Query) =>
  async () => {
    const base = { tenantId: TENANT, now: NOW, ...query }
    await tokens.list({ ...base, size: SIZE + 1 })
    await tokens.count(base)
  }

t.test('a search costs the same among twenty times as many tokens', async (t) => {
  for (const [name, query] of Object.entries(SEARCHES))
    await costsAtMost(t, name, 2, search(small.store, query), search(store, query))
})

t.test('page 10,000 of a list of tokens by cursor costs at most twice what page 1 does', async (t) => {
  for (const [name, query] of Object.entries<Query>({
    all: { visibility: 'all' },
    'some containers': { visibility: under('/c') },
    'a search for a type': { visibility: 'all', where: card },
  })) {
    const page = (beforeSeq?: number) => async () => {
      const base = { tenantId: TENANT, now: NOW, ...query }
      const rows = await store.tokens.list({ ...base, size: SIZE + 1, ...(beforeSeq ? { beforeSeq } : {}) })
      if (rows.length !== SIZE + 1) throw new Error(`a page of ${rows.length}`)
      await store.tokens.count(base)
    }
    await costsAtMost(t, name, 2, page(), page(ROWS - 9_999 * SIZE + 1))
  }
})

const page = (filter: Omit<LogFilter, 'tenantId'>, query: object) => async () => {
  const base = { tenantId: TENANT, ...filter }
  await store.logs.count(base)
  const rows = await store.logs.list({ ...base, ...query, size: SIZE })
  if (rows.length !== SIZE) throw new Error(`a page of ${rows.length}`)
}

t.test(
  'page 10,000 of a list of logs by cursor costs at most twice what page 1 does, by number what page 2 does',
  async (t) => {
    fillLogs(db, 2 * ROWS)
    const offset = 9_999 * SIZE
    for (const filter of [{}, { entityType: 'card' }, { from: NOW, to: NOW + ROWS * 1_000 }]) {
      const [after] = await store.logs.list({ tenantId: TENANT, ...filter, size: 1, offset: offset - 1 })
      const name = JSON.stringify(filter)
      await costsAtMost(t, `${name} by cursor`, 2, page(filter, {}), page(filter, { after }))
      await costsAtMost(t, `${name} by number`, 2, page(filter, { offset: SIZE }), page(filter, { offset }))
    }
  },
)

t.test(
  'any page of the logs of one busy entity costs at most twice what page 1 does by cursor, by number what page 2 does',
  async (t) => {
    for (const filter of [{ entityId: 'busy' }, { entityId: 'busy', entityType: 'card' }]) {
      const total = await store.logs.count({ tenantId: TENANT, ...filter })
      const last = total - SIZE
      const [after] = await store.logs.list({ tenantId: TENANT, ...filter, size: 1, offset: last - 1 })
      const name = `${JSON.stringify(filter)} of ${total}`
      await costsAtMost(t, `${name} by cursor`, 2, page(filter, {}), page(filter, { after }))
      const second = page(filter, { offset: SIZE })
      await costsAtMost(t, `${name}: the last page`, 2, second, page(filter, { offset: last }))
      const middle = page(filter, { offset: Math.floor(total / 2) })
      await costsAtMost(t, `${name}: in the middle`, 2, second, middle)
    }
  },
)
