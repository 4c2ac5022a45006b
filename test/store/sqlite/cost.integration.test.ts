import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LogFilter } from '../../../src/store/logs/types.ts'
import type { Store } from '../../../src/store/store.ts'
import type { SearchNode, TokenListQuery, Visibility } from '../../../src/store/tokens/types.ts'
import { aLog, aToken, NOW } from '../kit.ts'
import { fillLogs, fillTokens, TENANT } from './filled.ts'
import { tracedStore } from './kit.ts'

const SIZE = 20
/** Page 2,000 of 20, and some more behind it. */
const ROWS = 42_000
/** Runs of twice as many logs (src/store/logs/entity-runs.ts). */
const RUNS = (2 * ROWS) / 2_048
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
fillTokens(small.db, 1, ROWS / 4 + 1)

type Work = () => Promise<unknown>

/** Bytes that this thread has read (proc_pid_io(5)). */
const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1])

/** Pages of the database that `work` visits: none is kept from one visit to the next, so each is read. */
const pagesOf = async (work: Work): Promise<number> => {
  await work() // its statements are prepared
  for (const connection of [db, small.db]) connection.pragma('cache_size = 0')
  const before = bytesRead()
  const between = bytesRead() - before // what looking costs
  await work()
  const read = bytesRead() - before - 2 * between
  for (const connection of [db, small.db]) connection.pragma('cache_size = -16000')
  return Math.round(read / PAGE)
}

/** Passes when `work` visits at most `factor` times as many pages as `base`. */
const costsAtMost = async (t: Test, name: string, factor: number, base: Work, work: Work) => {
  const [least, ours] = [await pagesOf(base), await pagesOf(work)]
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

/** That few tokens match. */
const RARE: Readonly<Record<string, Query>> = {
  'data:…': { visibility: 'all', where: term },
  'data:… of a caller who sees some containers': { visibility: under('/c'), where: term },
  'metadata.n:77': { visibility: 'all', where: metadata },
  'metadata.n:77 AND type:card AND data:…': { visibility: 'all', where: and(metadata, card, term) },
  'fingerprint:…': { visibility: 'all', where: fingerprint },
  'id:… OR id:…': {
    visibility: 'all',
    where: { kind: 'or', nodes: ['id-1', 'id-77'].map((value) => ({ kind: 'equals', field: 'id', value })) },
  },
  'data:… AND NOT type:card': { visibility: 'all', where: and(term, { kind: 'not', node: card }) },
}

const COMMON: Readonly<Record<string, Query>> = {
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
  'created_at:[a TO *]': {
    visibility: 'all',
    where: { kind: 'range', field: 'created_at', from: { value: NOW + 2_000, inclusive: true } },
  },
}

const page =
  ({ tokens }: Store, query: Query) =>
  async () => {
    await tokens.list({ tenantId: TENANT, now: NOW, ...query, size: SIZE + 1 })
  }

const pageAndTotal = (store: Store, query: Query) => async () => {
  await page(store, query)()
  await store.tokens.count({ tenantId: TENANT, now: NOW, ...query })
}

t.test('a search reads as many pages among four times as many tokens', async (t) => {
  for (const [name, query] of Object.entries(COMMON))
    await costsAtMost(t, name, 2, page(small.store, query), page(store, query))
  for (const [name, query] of Object.entries(RARE))
    await costsAtMost(t, name, 2, pageAndTotal(small.store, query), pageAndTotal(store, query))
})

t.test('page 2,000 of a list of tokens by cursor costs at most twice what page 1 does', async (t) => {
  for (const [name, query] of Object.entries<Query>({
    all: { visibility: 'all' },
    'some containers': { visibility: under('/c') },
    'a search for a type': { visibility: 'all', where: card },
  })) {
    const from = (beforeSeq?: number) => async () => {
      const base = { tenantId: TENANT, now: NOW, ...query }
      const rows = await store.tokens.list({ ...base, size: SIZE + 1, ...(beforeSeq ? { beforeSeq } : {}) })
      if (rows.length !== SIZE + 1) throw new Error(`a page of ${rows.length}`)
    }
    await costsAtMost(t, name, 2, from(), from(ROWS - 1_999 * SIZE + 1))
  }
})

const logs = (filter: Omit<LogFilter, 'tenantId'>, query: object) => async () => {
  const rows = await store.logs.list({ tenantId: TENANT, ...filter, ...query, size: SIZE })
  if (rows.length !== SIZE) throw new Error(`a page of ${rows.length}`)
}

t.test('page 2,000 of a list of logs by cursor costs at most twice what page 1 does', async (t) => {
  fillLogs(db, 2 * ROWS)
  const offset = 1_999 * SIZE
  const busy = { entityId: 'busy' }
  for (const [filter, last] of [
    [{}, offset],
    [{ entityType: 'card' }, offset],
    [{ from: NOW, to: NOW + ROWS * 1_000 }, offset],
    [busy, (2 * ROWS) / 25 - SIZE],
    [{ ...busy, entityType: 'card' }, ROWS / 25 - SIZE],
  ] as const) {
    const name = JSON.stringify(filter)
    const at = { tenantId: TENANT, ...filter, size: 1, offset: last - 1 }
    const [after] = await store.logs.list(at)
    await costsAtMost(t, `${name} by cursor`, 2, logs(filter, {}), logs(filter, { after }))
    // What is passed over is read in an index, of which a page holds more than 40 entries; that of entities has runs,
    // each with a lookup of its own.
    const pages = await pagesOf(logs(filter, { offset: last }))
    const lookups = 'entityId' in filter ? 3 * RUNS : 0
    t.ok(pages <= last / 40 + 100 + lookups, `${name} by number: ${pages} pages for ${last} passed over`)
    let from = NOW
    const total = () => store.logs.count({ tenantId: TENANT, ...filter, from: from++ })
    const counted = await pagesOf(total)
    t.ok(counted > 0 && counted <= (2 * ROWS) / 40, `${name}: the total in ${counted} pages`)
  }
})

t.test('a log of an entity with one costs some pages for each run', async (t) => {
  const pages = await pagesOf(() => store.logs.list({ tenantId: TENANT, entityId: 'e-77', size: SIZE }))
  t.ok(pages > 0 && pages <= 3 * RUNS + 10, `${pages} pages`)
})

t.test('logs of 40 entities that are written together change few pages', async (t) => {
  db.pragma('wal_checkpoint(TRUNCATE)')
  const rows = Array.from({ length: 40 }, (_, at) =>
    aLog(at, { tenant_id: TENANT, entity_id: `e-${at * 1_999}`, journal: 'random', created_at: NOW * 2 }),
  )
  await store.logs.ingest(rows)
  const frames = Math.floor(statSync(join(directory, 'a.db-wal')).size / PAGE)
  t.ok(frames > 0 && frames <= 40, `${frames} frames of the log`)
})

t.test('tokens whose ids begin alike change few pages', async (t) => {
  db.pragma('wal_checkpoint(TRUNCATE)')
  const created = Array.from({ length: 20 }, (_, at) => aToken({ tenant_id: TENANT, id: `id-21-${at}` }))
  await store.tokens.create(created, NOW)
  const frames = Math.floor(statSync(join(directory, 'a.db-wal')).size / PAGE)
  t.ok(frames > 0 && frames <= 40, `${frames} frames of the log`)
})

t.test('a total of many tokens reads each of them once', async (t) => {
  for (const [name, query] of Object.entries(COMMON)) {
    // Said another way each time, so that no total is one that was kept.
    const said: SearchNode[] = query.where ? [query.where] : []
    const total = () => {
      said.push(and())
      return store.tokens.count({ tenantId: TENANT, now: NOW, ...query, where: and(...said) })
    }
    const pages = await pagesOf(total)
    // An index entry and a row, each by way of some pages of its tree, as none stays cached.
    t.ok(pages > 0 && pages <= 10 * ROWS, `${name}: ${pages} pages`)
  }
})

t.test('a search for an idempotency key does not read the large responses beside it', async (t) => {
  const stored = (connection: typeof db, bytes: number) => {
    const insert = connection.prepare(
      `insert into idempotency_keys (tenant_id, key, operation, holder, process, sealed, running_until, expires_at)
       values (?, ?, '', '', '', zeroblob(?), 0, 0)`,
    )
    for (let at = 0; at < 20; at++) insert.run(TENANT, Buffer.from([at]), bytes)
    const find = connection.prepare('select 1 from idempotency_keys where tenant_id = ? and key = ?')
    return async () => find.get(TENANT, Buffer.from([20]))
  }
  await costsAtMost(t, 'a key', 2, stored(small.db, 10), stored(db, 1_000_000))
})
