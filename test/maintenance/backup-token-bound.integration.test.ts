import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/common/clock.ts'
import { runBackup } from '../../src/maintenance/backup.ts'
import { runRestore } from '../../src/maintenance/restore.ts'
import { postgresMissing, startPostgres } from '../kit/postgres.ts'
import { newVaultDatabase } from '../kit/test-store.ts'
import { aToken } from '../store/kit.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

const COLLECTION = 'results'
const SHAPE = {
  name: COLLECTION,
  indexes: ['owner'],
  lookups: ['code'],
  hosts: 'hosts',
  tokens: 'tokens',
  expires: 'until',
}
const MAC = Buffer.alloc(33)
const TABLES = ['records', 'record_macs', 'record_indexes', 'record_lookups']

/** Rows of a backup by table. */
const rowsOf = (path: string): ReadonlyMap<string, readonly string[]> => {
  const tables = new Map<string, string[]>()
  let rows: string[] = []
  for (const line of gunzipSync(readFileSync(path)).toString().split('\n')) {
    if (line.startsWith('{"table"')) {
      rows = []
      tables.set(JSON.parse(line).table, rows)
    } else if (line.startsWith('[')) rows.push(line)
  }
  return tables
}

const check = async (t: Test, from: NodeJS.ProcessEnv, to: NodeJS.ProcessEnv) => {
  const { here, there, file } = twoFolders(t)
  const vault = await openVault(here, undefined, from)
  const now = systemClock.now()
  const [tenant] = await vault.store.tenants.list()
  const tenantId = tenant!.id
  await vault.store.tokens.create([aToken({ tenant_id: tenantId, id: 'token', created_at: now })], now)
  const insert = (id: string, tokens: readonly string[]) => ({
    kind: 'insert' as const,
    collection: COLLECTION,
    tenantId,
    id,
    record: { tokens, owner: id, code: id, hosts: [`${id}.test`], until: now + 900_000, raw: `raw-${id}` },
    shape: SHAPE,
    mac: MAC,
    unique: { name: `name-${id}` },
  })
  const mutations = [insert('before', []), insert('bound', ['token']), insert('after', [])]
  await vault.store.records.commit(mutations, now)
  const path = file('vault.backup')
  await runBackup(configOf(here, from), path, () => {})
  await vault.close()

  const rows = rowsOf(path)
  for (const table of TABLES) {
    const text = rows.get(table)?.join('\n') ?? ''
    t.notMatch(text, 'bound', table)
    t.notMatch(text, '$tokens', table)
    if (table !== 'record_macs') for (const id of ['before', 'after']) t.match(text, id, table)
  }
  t.equal(rows.get('record_macs')?.filter((row) => row.includes(MAC.toString('base64'))).length, 2)

  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))
  t.ok(await runRestore(configOf(there, to), { path, unverified: false }, () => {}))
  const restored = await openVault(there, vault.key, to)
  const { records } = restored.store
  for (const id of ['before', 'after']) t.match(await records.get(COLLECTION, tenantId, id), { mac: MAC }, id)
  t.equal(await records.get(COLLECTION, tenantId, 'bound'), undefined)
  await records.commit([insert('bound', ['token'])], now)
  t.ok(await records.get(COLLECTION, tenantId, 'bound'), 'its id and its unique values are free')
  await restored.close()
}

t.test('a backup excludes records that are bound to tokens', (t) => check(t, {}, {}))

t.test(
  'a backup of PostgreSQL excludes records that are bound to tokens',
  { skip: postgresMissing() },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const source = { SIDEVAULT_STORE: await newVaultDatabase(server) }
    await check(t, source, { SIDEVAULT_STORE: await server.database() })
  },
)
