import { Client } from 'pg'
import t from 'tap'
import type { Condition } from '../../../src/sdk/index.ts'
import type { SearchNode, TokenListQuery, Visibility } from '../../../src/store/tokens/types.ts'
import { postgresMissing } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { NOW } from '../kit.ts'
import { asTenant, fill, TENANT } from './filled.ts'
import { aServer, aStore } from './kit.ts'

const SIZE = 30_000
/** Rows that a page of 20 may look at: far fewer than there are. */
const FEW = 2_100

interface Sent {
  readonly text: string
  readonly values?: unknown[]
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

const sent: Sent[] = []
const { query } = Client.prototype
Client.prototype.query = function (this: Client, ...args: unknown[]) {
  const [one] = args
  if (typeof one === 'object' && one !== null && /^\(?(select|with)/i.test((one as Sent).text ?? ''))
    sent.push(one as Sent)
  return Reflect.apply(query, this, args)
} as typeof query

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Tables that hold a row for each token or log, or for many of them. */
const isLarge = ({ 'Relation Name': name = '' }: Plan): boolean =>
  ['tokens', 'logs', 'token_terms', 'token_metadata'].includes(name)

const rowsOf = (plan: Plan): number =>
  plan['Actual Loops'] *
  (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0))

const under = (value: string): readonly Condition[] => [
  { attribute: 'container', operator: 'starts_with', value },
]
const eq = (field: 'id' | 'type' | 'fingerprint' | 'created_by', value: string): SearchNode => ({
  kind: 'equals',
  field,
  value,
})
const red: SearchNode = { kind: 'metadata', key: 'color', value: 'red' }
const one: SearchNode = { kind: 'metadata', key: 'n', value: '4711' }
const term: SearchNode = { kind: 'term', term: Buffer.from('term-4711') }
const at = (second: number) => ({ value: NOW + second * 1000, inclusive: true })

/** Tokens created in `wide`, whose entries in an index tell between which numbers they lie. */
const WIDE = 10_001
const wide: SearchNode = { kind: 'range', field: 'created_at', from: at(10_000), to: at(20_000) }

const LISTS: readonly (readonly [
  string,
  { readonly visibility?: Visibility; readonly where?: SearchNode },
  most?: number,
])[] = [
  ['all', {}],
  ['one container', { visibility: [under('/c1/')] }],
  ['several containers', { visibility: [under('/c')] }],
  ['a type', { where: eq('type', 'card') }],
  ['a type that none has', { where: eq('type', 'bank') }],
  ['an id', { where: eq('id', 'id-4711') }],
  ['ids', { where: { kind: 'or', nodes: [eq('id', 'id-1'), eq('id', 'id-2')] } }],
  ['a fingerprint', { where: eq('fingerprint', 'fp-4711') }],
  ['a term', { where: term }],
  ['a term in a container', { visibility: [under('/c1/')], where: term }],
  ['metadata that one has', { where: one }],
  ['metadata that many have', { where: red }],
  ['metadata that many have, in a container', { visibility: [under('/c1/')], where: red }],
  ['metadata and a term', { where: { kind: 'and', nodes: [red, term] } }],
  ['one of two', { where: { kind: 'or', nodes: [one, term] } }],
  ['who created it', { where: eq('created_by', 'application-1') }],
  ['two values that many have', { where: { kind: 'and', nodes: [red, eq('created_by', 'application-1')] } }],
  [
    'a value that many have, in a range of times and some containers',
    {
      visibility: [under('/c1/')],
      where: {
        kind: 'and',
        nodes: [red, wide],
      },
    },
    WIDE,
  ],
  ['one of two that many have', { where: { kind: 'or', nodes: [red, eq('type', 'card')] } }],
  ['one of two, of which few have one', { where: { kind: 'or', nodes: [red, one] } }],
  ['not a term', { where: { kind: 'not', node: term } }],
  ['a range of times', { where: wide }, WIDE],
  ['a moment', { where: { kind: 'range', field: 'created_at', from: at(10_000), to: at(10_001) } }],
]

const base: TokenListQuery = { tenantId: TENANT, now: NOW, visibility: 'all', size: 20 }

/** Scans of whole large tables, and how many of their rows were looked at at most, in what `work` asked. */
const lookedBy =
  (client: Client) =>
  async (work: () => Promise<unknown>): Promise<{ scans: string[]; rows: number }> => {
    sent.length = 0
    await work()
    const statements = [...sent]
    const scans: string[] = []
    let rows = 0
    for (const { text, values } of statements) {
      if (/set_config|from "?changes/.test(text)) continue
      const { rows: found } = await client.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>({
        text: `explain (analyze, costs off, timing off, format json) ${text}`,
        ...(values ? { values } : {}),
      })
      const nodes = nodesOf(found[0]?.['QUERY PLAN'][0]?.Plan as Plan).filter(isLarge)
      scans.push(...nodes.filter((node) => node['Node Type'] === 'Seq Scan').map(() => text))
      rows = Math.max(rows, ...nodes.map(rowsOf))
    }
    if (statements.length === 0) throw new Error('no statement was seen')
    return { scans, rows }
  }

t.test('on PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await newVaultDatabase(server)
  const client = await asTenant(address)
  t.teardown(() => client.end())
  await fill(client, { tokens: SIZE, logs: SIZE })
  const store = await aStore(t, address)
  const looked = lookedBy(client)

  await t.test('the check distinguishes a scan from a search', async (t) => {
    const { scans, rows } = await looked(() =>
      client.query({ text: "select * from tokens where metadata = 'x'", values: [] }),
    )
    t.equal(scans.length, 1)
    t.equal(rows, SIZE)
  })

  await t.test(
    'lists and searches read few rows, by an index, and totals read each row once or twice',
    async (t) => {
      for (const [name, asked, most = FEW] of LISTS) {
        const list = await looked(async () => {
          await store.tokens.list({ ...base, ...asked })
          await store.tokens.list({ ...base, ...asked, offset: 20 })
          await store.tokens.list({ ...base, ...asked, beforeSeq: SIZE / 2 })
        })
        t.strictSame(list.scans, [], name)
        t.ok(list.rows <= most, `${name}: looks at ${list.rows} rows`)
        const total = await looked(() => store.tokens.count({ ...base, ...asked }))
        t.ok(total.rows <= 2 * SIZE, `${name}: the total looks at ${total.rows} rows`)
      }
    },
  )

  await t.test('reads by id read only the rows that they return', async (t) => {
    const ids = Array.from({ length: 100 }, (_, i) => `id-${i * 7 + 1}`)
    const { scans, rows } = await looked(async () => {
      await store.tokens.read(TENANT, ['id-1'], NOW)
      await store.tokens.read(TENANT, ids, NOW)
    })
    t.strictSame(scans, [])
    t.equal(rows, 100)
  })

  await t.test('logs are listed along an index, and each is counted once', async (t) => {
    const time = { from: NOW + 100_000, to: NOW + 2_000_000 }
    for (const filter of [
      {},
      { entityType: 'card' },
      { entityId: 'busy' },
      { entityId: 'e-7' },
      { entityType: 'card', entityId: 'busy' },
      time,
      { ...time, entityType: 'card' },
      { ...time, entityId: 'busy' },
    ]) {
      const name = JSON.stringify(filter)
      const { scans, rows } = await looked(async () => {
        await store.logs.list({ tenantId: TENANT, ...filter, size: 20 })
        await store.logs.list({ tenantId: TENANT, ...filter, size: 20, offset: 400 })
        await store.logs.list({
          tenantId: TENANT,
          ...filter,
          size: 20,
          after: { created_at: NOW + 500_000, seq: 500 },
        })
      })
      t.strictSame(scans, [], name)
      t.ok(rows <= FEW, `${name}: looks at ${rows} rows`)
      const total = await looked(() => store.logs.count({ tenantId: TENANT, ...filter }))
      t.ok(total.rows <= SIZE, `${name}: the total looks at ${total.rows} rows`)
    }
  })

  await t.test('a consumer reads on at its position', async (t) => {
    const { scans, rows } = await looked(async () => {
      await store.logs.after(5_000)
      await store.logs.createdAfter(5_000)
      await store.tasks.state()
    })
    t.strictSame(scans, [])
    t.ok(rows <= 502, `looks at ${rows} rows`)
  })
})

t.test('queries use indexes before PostgreSQL has statistics', { skip: postgresMissing() }, async (t) => {
  const tokens = 2_000
  const server = await aServer(t)
  const address = await newVaultDatabase(server)
  const client = await asTenant(address)
  t.teardown(() => client.end())
  await fill(client, { tokens, logs: 1, analyzed: false })
  const store = await aStore(t, address)
  const looked = lookedBy(client)
  const coloured: SearchNode = { kind: 'metadata-range', key: 'color' }
  const all = { visibility: [under('/c')] }
  const more: typeof LISTS = [
    ['a range of values', { where: coloured }],
    ['a range of values, in containers', { ...all, where: { kind: 'and', nodes: [red, coloured] } }],
    ['a value, of a type', { ...all, where: { kind: 'and', nodes: [red, eq('type', 'card')] } }],
    ['no such value', { ...all, where: { kind: 'and', nodes: [red, { kind: 'not', node: one }] } }],
  ]
  for (const [name, asked] of [...LISTS, ...more]) {
    const { rows } = await looked(async () => {
      await store.tokens.list({ ...base, ...asked, offset: 20 })
      await store.tokens.count({ ...base, ...asked })
    })
    t.ok(rows <= 4 * tokens, `${name}: looks at ${rows} rows, not at all for each`)
  }
})
