import { join } from 'node:path'
import t from 'tap'
import type { Condition } from '../../../src/sdk/index.ts'
import type { SearchNode, TokenListQuery, Visibility } from '../../../src/store/tokens/types.ts'
import { aLog, aToken, NOW } from '../kit.ts'
import { tracedStore } from './kit.ts'
import { plansOf as explained, scansOf } from './plans.ts'

const { store, db, applied } = tracedStore(join(t.testdir({}), 'a.db'))
t.teardown(() => store.close())

const tokens = Array.from({ length: 200 }, (_, index) =>
  aToken({
    type: index % 2 ? 'card' : 'bank',
    container: `/c${index % 3}/`,
    fingerprint: `fp-${index}`,
    metadata: { color: 'red' },
    terms: [Buffer.from(`t${index % 7}`)],
    expires_at: index % 10 ? null : NOW + 1_000,
    ephemeral: Buffer.from('e'),
    ephemeral_until: NOW + 1_000,
  }),
)
const shape = { name: 'things', indexes: ['type'], lookups: ['hash'] }
await store.tokens.create(tokens, NOW)
await store.records.commit(
  [{ kind: 'insert', collection: 'things', tenantId: 'tenant-a', id: 'x', record: { hash: 'h' }, shape }],
  NOW,
)

/** Lines of the plans of all statements that `work` ran. */
const plansOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  applied()
  await work()
  const plans = explained(db, applied())
  applied()
  if (plans.length === 0) throw new Error('no statement was seen')
  return plans
}

const sortsOf = (plans: readonly string[]) =>
  plans.filter((line) => line.includes('TEMP B-TREE FOR ORDER BY'))

const under = (value: string): readonly Condition[] => [
  { attribute: 'container', operator: 'starts_with', value },
]
const eq = (
  field: 'id' | 'type' | 'container' | 'fingerprint' | 'created_by',
  value: string,
): SearchNode => ({
  kind: 'equals',
  field,
  value,
})
const color: SearchNode = { kind: 'metadata', key: 'color', value: 'red' }
const term = (text: string): SearchNode => ({ kind: 'term', term: Buffer.from(text) })

t.test('the check distinguishes a scan from a search', async (t) => {
  t.same(scansOf(['SCAN tokens', 'SCAN tokens USING INDEX tokens_newest', 'SEARCH tokens USING INDEX x']), [
    'SCAN tokens',
    'SCAN tokens USING INDEX tokens_newest',
  ])
  const plans = await plansOf(async () => db.prepare("select * from tokens where created_by = 'x'").all())
  t.equal(scansOf(plans).length, 1)
})

t.test('reads and writes of single tokens search by key', async (t) => {
  const [token] = tokens
  const id = token?.id as string
  const read = async () => (await store.tokens.read('tenant-a', [id], NOW))[0]!
  const plans = await plansOf(async () => {
    const row = await read()
    await store.tokens.read('tenant-a', [id, 'b', 'c'], NOW)
    await store.tokens.create([aToken({ deduplicate: true, fingerprint: 'fp-5', container: '/c2/' })], NOW)
    await store.tokens.update({ row, version: row.version, terms: [], deduplicate: true }, NOW)
    await store.tokens.delete('tenant-a', id, NOW)
    await store.tokens.purge(NOW + 1_000, 3)
  })
  t.same(scansOf(plans), [])
  t.same(sortsOf(plans), [])
  t.ok(plans.some((line) => line.includes('tokens_fingerprint')))
  t.ok(plans.some((line) => line.includes('tokens_expiry')))
  t.ok(plans.some((line) => line.includes('tokens_ephemeral')))
})

const LISTS: readonly [string, { readonly visibility?: Visibility; readonly where?: SearchNode }][] = [
  ['all', {}],
  ['one container', { visibility: [under('/c1/')] }],
  ['several containers', { visibility: [under('/c')] }],
  ['a type', { where: eq('type', 'card') }],
  ['a type in a container', { visibility: [under('/c1/')], where: eq('type', 'card') }],
  ['a term', { where: term('t1') }],
  ['a term in a container', { visibility: [under('/c1/')], where: term('t1') }],
  ['metadata', { where: color }],
  ['metadata and a term', { where: { kind: 'and', nodes: [color, term('t1')] } }],
  ['who created it', { where: eq('created_by', 'x') }],
  ['not a term', { where: { kind: 'not', node: term('t1') } }],
]

/** Found by key first and put in order then: few by nature. */
const SORTED: typeof LISTS = [
  ['a fingerprint', { where: eq('fingerprint', 'fp-1') }],
  [
    'a range of times',
    { where: { kind: 'range', field: 'created_at', from: { value: 1, inclusive: true } } },
  ],
  ['ids', { where: { kind: 'or', nodes: [eq('id', 'a'), eq('id', 'b')] } }],
  ['one of two terms', { where: { kind: 'or', nodes: [term('t1'), term('t2')] } }],
]

t.test('lists and searches walk an index in order, and neither scan nor sort a table', async (t) => {
  const base: TokenListQuery = { tenantId: 'tenant-a', now: NOW, visibility: 'all', size: 20 }
  for (const [name, query] of [...LISTS, ...SORTED]) {
    const plans = await plansOf(async () => {
      await store.tokens.list({ ...base, ...query })
      await store.tokens.list({ ...base, ...query, offset: 20 })
      await store.tokens.list({ ...base, ...query, beforeSeq: 50 })
    })
    t.same(scansOf(plans), [], name)
    if (!SORTED.some(([sorted]) => sorted === name)) t.same(sortsOf(plans), [], name)
    t.same(scansOf(await plansOf(() => store.tokens.count({ ...base, ...query }))), [], `${name}: count`)
  }
})

t.test('the most selective condition drives the index, whatever the caller may see', async (t) => {
  const base: TokenListQuery = { tenantId: 'tenant-a', now: NOW, visibility: [under('/c')], size: 20 }
  const first = async (where: SearchNode) =>
    (await plansOf(() => store.tokens.list({ ...base, where }))).join('\n')
  t.match(await first(eq('fingerprint', 'fp-1')), /tokens_fingerprint/)
  t.match(await first(eq('id', 'x')), /autoindex_tokens_1 \(tenant_id=\? AND id=\?\)/)
  t.match(
    await first({ kind: 'or', nodes: [eq('id', 'x'), eq('id', 'y')] }),
    /autoindex_tokens_1 \(tenant_id=\? AND id=\?\)/,
  )
  t.match(await first(term('t1')), /PRIMARY KEY \(tenant_id=\? AND term=\?\)[\s\S]*INTEGER PRIMARY KEY/)
  t.match(
    await first(color),
    /PRIMARY KEY \(tenant_id=\? AND key=\? AND value=\?\)[\s\S]*INTEGER PRIMARY KEY/,
  )
  const merged = (await plansOf(() => store.tokens.list(base))).join('\n')
  t.match(merged, /MERGE \(UNION ALL\)/)
  t.match(merged, /tokens_groups \(tenant_id=\? AND container=\? AND type=\?\)/)
})

t.test('totals by container and type are summed, not counted', async (t) => {
  const base: TokenListQuery = { tenantId: 'tenant-a', now: NOW, visibility: [under('/c')], size: 20 }
  const plans = await plansOf(() => store.tokens.count({ ...base, where: eq('type', 'card') }))
  t.match(plans.join('\n'), /token_counts USING PRIMARY KEY/)
  t.same(
    plans.filter((line) => /tokens USING/.test(line) && !line.includes('tokens_expiry')),
    [],
  )
})

t.test('logs are listed and counted along an index, at any page', async (t) => {
  const base = { tenantId: 'tenant-a' }
  const time = { from: NOW, to: NOW + 1_000_000 }
  const filters = [
    {},
    { entityType: 'card' },
    { entityId: 'x' },
    { entityType: 'card', entityId: 'x' },
    time,
    { ...time, entityType: 'card' },
    { ...time, entityId: 'x' },
  ]
  const rows = Array.from({ length: 40 }, (_, seq) =>
    aLog(seq, { entity_id: 'x', created_at: NOW + seq * 3_000, journal: 'listed', token_seq: seq }),
  )
  await store.logs.ingest(rows)
  for (const filter of filters) {
    const plans = await plansOf(async () => {
      await store.logs.list({ ...base, ...filter, size: 20 })
      await store.logs.list({ ...base, ...filter, size: 20, offset: 20 })
      await store.logs.list({ ...base, ...filter, size: 20, after: { created_at: NOW + 1, seq: 5 } })
    })
    t.same(scansOf(plans), [], JSON.stringify(filter))
    const counted = await plansOf(() => store.logs.count({ ...base, ...filter }))
    t.same(scansOf(counted), [])
    if (!('entityId' in filter)) {
      t.same(sortsOf(plans), [], JSON.stringify(filter))
      continue
    }
    // Logs of one entity are found in each run, and sorted.
    const lookups = [...plans, ...counted].filter((line) => line.includes('USING'))
    const byNumber = /^SEARCH logs USING INTEGER PRIMARY KEY \(rowid=\?\)$/
    const byRun =
      /^SEARCH logs USING COVERING INDEX logs_entity \(<expr>=\? AND tenant_id=\? AND entity_id=\?/
    t.same(
      lookups.filter((line) => !byNumber.test(line) && !byRun.test(line)),
      [],
      JSON.stringify(filter),
    )
    t.ok(lookups.some((line) => byRun.test(line)))
  }
})

t.test('a consumer reads on at its position', async (t) => {
  const plans = await plansOf(async () => {
    await store.logs.after(5)
    await store.logs.createdAfter(5)
    await store.tasks.state()
  })
  t.same(
    scansOf(plans).filter((line) => line !== 'SCAN plugin_tasks'),
    [],
  )
  t.same(sortsOf(plans), [])
})

t.test('children, parents, usage, stored responses and purges are found by key', async (t) => {
  const child = { kind: 'child', parentSeq: 1 } as const
  const parent = { kind: 'parent', childSeq: 1 } as const
  const base: TokenListQuery = { tenantId: 'tenant-a', now: NOW, visibility: 'all', size: 20 }
  const response = { tenantId: 'tenant-a', key: Buffer.from('k'), holder: 'h' }
  const plans = await plansOf(async () => {
    await store.tokens.list({ ...base, where: child })
    await store.tokens.list({
      ...base,
      visibility: [under('/c1/')],
      where: { kind: 'and', nodes: [child, eq('type', 'card')] },
    })
    await store.tokens.count({ ...base, where: child })
    await store.tokens.list({ ...base, where: parent })
    await store.tokens.count({ ...base, where: parent })
    await store.tokens.associate({ tenantId: 'tenant-a', parentSeq: 2, childSeq: 3 }, NOW)
    await store.tokens.dissociate({ tenantId: 'tenant-a', parentSeq: 2, childSeq: 3 })
    await store.usage.types('tenant-a', NOW)
    await store.usage.active('tenant-a', NOW)
    await store.idempotency.begin({ ...response, operation: 'o', runningUntil: NOW, expiresAt: NOW + 1 }, NOW)
    await store.tokens.create([aToken({ id: 'shown' })], NOW)
    const tokens = [{ id: 'shown', created_at: NOW, version: 1 }]
    const shown = { sealed: Buffer.from(''), tokens, until: NOW + 1 }
    await store.idempotency.finish({ ...response, sealed: Buffer.from(''), shown, expiresAt: NOW + 1 }, NOW)
    await store.tokens.delete('tenant-a', 'shown', NOW)
    await store.idempotency.abandon({ ...response, certain: true }, NOW)
    await store.idempotency.abandon({ ...response, certain: false }, NOW)
    await store.idempotency.begin(
      { ...response, operation: 'o', runningUntil: NOW + 2, expiresAt: NOW + 2 },
      NOW + 1,
    )
    await store.idempotency.runWithLease({ ...response, expiresAt: NOW + 9 }, () =>
      store.tokens.create([aToken({ id: 'under' })], NOW),
    )
    await store.idempotency.abandonAllOf('', NOW)
    await store.tenantPurge.purge(NOW, 10)
  })
  // Few by nature.
  const few = 'SCAN deleted_tenants'
  t.same(
    scansOf(plans).filter((line) => line !== few),
    [],
  )
  t.match(plans.join('\n'), /token_associations USING PRIMARY KEY \(parent_seq=\?/)
  t.match(plans.join('\n'), /records USING INDEX records_expiry|records_expiry/)
})

t.test('records, tenants, keys and logs are found by key', async (t) => {
  const plans = await plansOf(async () => {
    await store.records.get('things', 'tenant-a', 'x')
    await store.records.lookup('things', 'hash', 'h')
    await store.records.allowsOrigin('https://shop.example')
    await store.records.changes(['things'])
    await store.records.find('things', 'tenant-a', { page: 1, size: 20 })
    await store.records.find('things', 'tenant-a', { where: { type: ['a', 'b'] }, page: 1, size: 20 })
    await store.records.find('things', 'tenant-a', { ids: ['x', 'y'] })
    await store.records.find('things', 'tenant-a', { name: 'a*' })
    const mutation = { collection: 'things', tenantId: 'tenant-a', id: 'x', record: {}, shape }
    await store.records.commit([{ ...mutation, kind: 'replace' }], NOW)
    await store.records.commit([{ ...mutation, kind: 'delete' }], NOW)
    await store.tenants.get('tenant-a')
    await store.keys.keys('tenant-a')
    await store.logs.ingest([aLog(1, { entity_id: 'x', journal: 'j' })])
    await store.logs.position('j')
    await store.logs.find('tenant-a')
    await store.logs.find('tenant-a', 'x')
  })
  t.same(scansOf(plans), [])
})
