/** What commands do about rows, and tables, that another connection holds. */
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import type { SearchNode, Store } from '../../../src/store/types.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

t.test('beside other connections', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await newVaultDatabase(server)
  const store = await aStore(t, address)
  const admin = new URL(server.admin)
  admin.pathname = new URL(address).pathname

  /** An open transaction of another connection that has run `statement`. */
  const holding = async (t: Test, statement: string): Promise<Client> => {
    const client = new Client({ connectionString: admin.href })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('begin')
    await client.query(statement)
    return client
  }
  /** Commits for `holder` when `work` waits for it. */
  const waitsFor = async <T>(holder: Client, work: Promise<T>): Promise<T> => {
    const waiting = `select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'sidevault' and wait_event_type = 'Lock'`
    let over = false
    const ended = () => {
      over = true
    }
    work.then(ended, ended)
    while (!over && (await queryPostgres(admin.href, waiting)).length === 0) await setTimeout(10)
    await holder.query('commit')
    return work
  }

  await t.test('a deletion beside a change elsewhere comes after it, and is no conflict', async (t) => {
    const shape = { name: 'things', indexes: [], lookups: [] }
    const at = { collection: 'things', tenantId: 'tenant-a', id: 'contended', shape }
    await store.records.commit([{ ...at, kind: 'insert', record: {} }], NOW)
    const holder = await holding(t, "update records set version = version + 1 where id = 'contended'")
    await waitsFor(holder, store.records.commit([{ ...at, kind: 'delete' }], NOW))
    t.equal(await store.records.get('things', 'tenant-a', 'contended'), undefined)
  })

  t.test('an ephemeral that came while the purge waited stays', async (t) => {
    const token = aToken({ id: 'e', ephemeral: Buffer.from('old'), ephemeral_until: NOW - 1 })
    await store.tokens.create([token], NOW - 10)
    const holder = await holding(t, `update tokens set ephemeral = 'new', ephemeral_until = ${NOW + 1_000}`)
    await waitsFor(holder, store.tokens.purge(NOW, 10))
    const [read] = await store.tokens.read('tenant-a', ['e'], NOW)
    t.equal(read?.ephemeral?.toString(), 'new')
  })

  t.test('a record that was given time while the purge waited stays', async (t) => {
    const record = { ends: NOW - 1 }
    const shape = { name: 'things', indexes: [], lookups: [], expires: 'ends' }
    const row = { collection: 'things', tenantId: 'tenant-a', id: '1', record, shape }
    await store.records.commit([{ kind: 'insert', ...row }], NOW - 10)
    const holder = await holding(
      t,
      `update records set expires_at = ${NOW + 1_000} where expires_at < ${NOW}`,
    )
    t.equal(await waitsFor(holder, store.leftovers.purge(NOW, 10)), 0)
  })

  t.test('an answer that was kept, and shown, while the purge waited stays', async (t) => {
    const answer = { tenantId: 'tenant-a', key: Buffer.from('key'), holder: 'h', expiresAt: NOW - 1 }
    await store.answers.begin({ ...answer, operation: 'O', runningUntil: NOW - 1 }, NOW - 10)
    const kept = await holding(
      t,
      `update idempotent_answers set sealed = 'done', shown = 'whole', shown_until = ${NOW - 1}, expires_at = ${NOW + 1_000}`,
    )
    t.equal(await waitsFor(kept, store.leftovers.purge(NOW - 1, 10)), 1, 'what was shown is due')
    await queryPostgres(admin.href, `update idempotent_answers set shown = 'x', shown_until = ${NOW - 1}`)
    const shown = await holding(t, `update idempotent_answers set shown_until = ${NOW + 1_000}`)
    t.equal(await waitsFor(shown, store.leftovers.purge(NOW, 10)), 0)
    t.match(
      await store.answers.begin({ ...answer, operation: 'O', holder: 'other', runningUntil: NOW + 1 }, NOW),
      { kind: 'done' },
    )
  })

  t.test('values are counted, and cease to be, while the table is vacuumed', async (t) => {
    const ids = ['v1', 'v2']
    const tokens = ids.map((id) => aToken({ id, metadata: { of: 'vacuumed' } }))
    await store.tokens.create(tokens, NOW)
    // The lock that VACUUM holds.
    await holding(t, 'lock table tokens in share update exclusive mode')
    await store.tokens.tally(10, 2)
    const tallies = `select count from token_tallies where entry = 'metadata of=vacuumed'`
    t.strictSame(await queryPostgres(admin.href, tallies), [{ count: '2' }])
    for (const id of ids) await store.tokens.delete('tenant-a', id, NOW)
    await store.tokens.tally(10, 2)
    t.strictSame(await queryPostgres(admin.href, tallies), [])
  })

  t.test('a value that begins to be counted amid creates and deletions is counted right', async (t) => {
    const other = await aStore(t, address)
    const token = (id: string) => aToken({ id, metadata: { of: 'many' } })
    await store.tokens.create([token('m0'), token('m1')], NOW)
    const writes = Array.from({ length: 40 }, async (_, at) => {
      await (at % 2 ? store : other).tokens.create([token(`n${at}`)], NOW)
      if (at % 4 === 0) await store.tokens.delete('tenant-a', `n${at}`, NOW)
    })
    await Promise.all([...writes, store.tokens.tally(10, 2), other.tokens.tally(10, 2)])
    const [row] = await queryPostgres<{ count: string }>(
      admin.href,
      `select sum(count) as count from token_tallies where entry = 'metadata of=many'`,
    )
    t.equal(row?.count, '32')
  })

  t.test(
    'bitmaps that are made amid creates, changes and deletions of others say what rows say',
    async (t) => {
      const other = await aStore(t, address)
      const stores = [store, other] as const
      const tenant_id = 'tenant-bits'
      const token = (id: string) => aToken({ tenant_id, id, metadata: { color: 'red' }, created_by: 'one' })
      const busy = async (of: number) => {
        const { tokens } = stores[of % 2] as Store
        for (let turn = 0; turn < 12; turn++) {
          const ids = [0, 1, 2].map((at) => `${of}-${turn}-${at}`)
          await Promise.all(ids.map((id) => tokens.create([token(id)], NOW)))
          await tokens.delete(tenant_id, ids[0] as string, NOW)
          const [row] = await tokens.read(tenant_id, [ids[1] as string], NOW)
          const change = { ...row!, metadata: { color: 'blue' }, modified_by: 'two', modified_at: NOW }
          await tokens.update({ row: change, version: 1, terms: [], deduplicate: false }, NOW)
        }
      }
      let done = false
      const upkeep = async ({ tokens }: Store) => {
        do while (await tokens.tally(10, 4));
        while (!done)
      }
      const kept = Promise.all(stores.map(upkeep))
      await Promise.all([0, 1, 2, 3].map(busy))
      done = true
      await kept
      const where = (color: string, created_by: string): SearchNode => ({
        kind: 'and',
        nodes: [
          { kind: 'metadata', key: 'color', value: color },
          { kind: 'equals', field: 'created_by', value: created_by },
        ],
      })
      const count = (color: string) =>
        other.tokens.count({ tenantId: tenant_id, now: NOW, visibility: 'all', where: where(color, 'one') })
      t.strictSame([await count('red'), await count('blue'), await count('green')], [48, 48, 0])
      const [sums] = await queryPostgres(
        admin.href,
        `select (select count(*) from tokens where tenant_id = '${tenant_id}'
          and seq <= (select max(last_seq) from token_segments where tenant_id = '${tenant_id}')) as rows,
        (select sum(bit_count(bits)) from token_bits where tenant_id = '${tenant_id}' and entry = 'every') as placed,
        (select sum(bit_count(bits)) from token_bits where tenant_id = '${tenant_id}' and entry like 'metadata %') as valued`,
      )
      const { rows } = sums as { rows: string }
      t.ok(Number(rows) > 90, 'all but a few are in segments')
      t.strictSame({ ...sums }, { rows, placed: rows, valued: rows })
    },
  )
})
