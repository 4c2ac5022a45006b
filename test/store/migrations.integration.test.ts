import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { postgresMissing, queryPostgres } from '../kit/postgres.ts'
import { aLog, aToken, NOW } from './kit.ts'
import { aServer, aStore } from './postgres/kit.ts'

/** What takes a database back to the first schema. */
const BACK = [
  'alter table tenants drop column has_egress_only',
  'alter table logs drop column disclosure',
  'alter table logs drop column labels',
  'drop table plugin_tasks',
  'delete from schema_migrations where version > 2',
] as const

const marksTenants = async (t: Test, location: string, run: (step: string) => unknown): Promise<void> => {
  const before = await aStore(t, location)
  for (const id of ['with', 'without']) {
    const key = { tenant_id: id, purpose: 'data', version: 1, wrapped: Buffer.of(1), created_at: NOW }
    const changes = { created_by: null, created_at: NOW, modified_by: null, modified_at: null }
    await before.tenants.create({ id, owner_id: 'o', name: id, settings: {}, ...changes }, [key])
    const egress = id === 'with' ? ({ egress_only: true } as const) : null
    await before.tokens.create([aToken({ tenant_id: id, egress }), aToken({ tenant_id: id })], NOW)
  }
  await before.close()
  for (const step of BACK) await run(step)
  const { tenants, tokens } = await aStore(t, location)
  t.equal(await tenants.hasEgressOnly('with'), true)
  t.equal(await tenants.hasEgressOnly('without'), false)
  await tokens.create([aToken({ tenant_id: 'without', egress: { egress_only: true } })], NOW)
  t.equal(await tenants.hasEgressOnly('without'), true)
}

t.test('migration 3 marks tenants that have egress_only tokens, in SQLite', async (t) => {
  const location = join(t.testdir(), 'vault.db')
  await marksTenants(t, location, (step) => {
    const db = new Database(location)
    db.exec(step)
    db.close()
  })
})

t.test('migration 7 replaces the index of logs by entity, in SQLite', async (t) => {
  const location = join(t.testdir(), 'vault.db')
  const before = await aStore(t, location)
  await before.logs.ingest([aLog(1, { entity_id: 'x' }), aLog(2, { entity_id: 'y' })])
  await before.close()
  const db = new Database(location)
  db.exec('drop index logs_entity')
  db.exec('create index logs_entity on logs (tenant_id, entity_id, created_at, seq, entity_type)')
  db.exec('delete from schema_migrations where version > 6')
  db.close()
  const { logs } = await aStore(t, location)
  const query = { tenantId: 'tenant-a', entityId: 'x' }
  t.equal((await logs.list({ ...query, size: 10 })).length, 1)
  t.equal(await logs.count(query), 1)
  const after = new Database(location, { readonly: true })
  t.match(
    after.prepare("select sql from sqlite_schema where name = 'logs_entity'").pluck().get(),
    'seq >> 11',
  )
  after.close()
})

t.test('migration 3 does so in PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const location = await (await aServer(t)).database()
  await marksTenants(t, location, (step) => queryPostgres(location, step))
})
