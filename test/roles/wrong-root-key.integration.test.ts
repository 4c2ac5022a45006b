import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { newKey } from '../../src/common/ids.ts'
import { createLog } from '../../src/common/log.ts'
import { Secret } from '../../src/common/secret.ts'
import { loadConfig } from '../../src/config.ts'
import { bootstrapTenant } from '../../src/roles/bootstrap-tenant.ts'
import { createTenant } from '../../src/roles/create-tenant.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import type { Test } from '../keys/kit.ts'

const log = createLog('test', 'silent')

/** A data directory as a stopped service leaves it: two tenants, some records, a key file. */
const stopped = async (t: Test) => {
  const dataDir = t.testdir()
  const config = loadConfig({ SIDEVAULT_DATA_DIR: dataDir })
  const start = (owner: boolean) => openRuntime(config, { name: owner ? 'admin' : 'gateway-0', owner, log })
  const foundation = await start(true)
  await bootstrapTenant(foundation, { bootstrapKey: undefined, now: 1, log })
  const { credentials } = foundation.kernel.registry.ports
  await createTenant(
    { ...foundation, credentials: credentials! },
    { id: 'second', name: 'Second', key: new Secret(newKey()), now: 2 },
  )
  await foundation.close()
  const database = join(dataDir, 'sidevault.db')
  /** The bytes of the database; its log is empty. */
  const digest = () => {
    const wal = `${database}-wal`
    if (existsSync(wal) && statSync(wal).size > 0) throw new Error('something was written to the log')
    return createHash('sha256').update(readFileSync(database)).digest('hex')
  }
  return { keyFile: join(dataDir, 'root.key'), database, digest, start }
}

const flipped = (text: string): string => {
  const key = Buffer.from(text, 'base64')
  key[7]! ^= 0x10
  return `${key.toString('base64')}\n`
}

const ISSUES: Readonly<Record<string, readonly [(text: string) => string | undefined, RegExp]>> = {
  'is gone': [() => undefined, /root key file ".*root\.key" does not exist.*Restore its copy/],
  'is another one': [
    () => `${randomBytes(32).toString('base64')}\n`,
    /The root key does not match the store.*Nothing was changed/,
  ],
  'is cut short': [(text) => text.slice(0, 30), /root\.key" does not contain a root key/],
  'is empty': [() => '', /root\.key" does not contain a root key/],
  'has one bit flipped': [flipped, /The root key does not match the store.*Nothing was changed/],
}

t.test('a start with a missing or wrong root key is rejected, and no byte changes', async (t) => {
  const { keyFile, digest, start } = await stopped(t)
  const right = readFileSync(keyFile, 'utf8')
  const before = digest()
  for (const [what, [damage, sentence]] of Object.entries(ISSUES)) {
    const text = damage(right)
    if (text === undefined) rmSync(keyFile)
    else writeFileSync(keyFile, text, { mode: 0o600 })
    for (const owner of [true, false]) {
      await t.rejects(start(owner), { code: 'invalid', message: sentence }, `the key file ${what}`)
      t.equal(digest(), before, `the database after one that ${what}`)
    }
    t.equal(existsSync(keyFile), text !== undefined, 'no new key is made beside data under a lost one')
    writeFileSync(keyFile, right, { mode: 0o600 })
  }
  await (await start(true)).close()
})

t.test('swapped key rows of two tenants open for neither, and stay as they are', async (t) => {
  const { database, digest, start } = await stopped(t)
  const db = new Database(database)
  db.pragma('journal_mode = DELETE')
  const [a, b] = db
    .prepare("select tenant_id, wrapped from tenant_keys where tenant_id <> '' and purpose = 'data'")
    .all() as { tenant_id: string; wrapped: Buffer }[]
  const swap = db.prepare("update tenant_keys set wrapped = ? where tenant_id = ? and purpose = 'data'")
  swap.run(a!.wrapped, b!.tenant_id)
  swap.run(b!.wrapped, a!.tenant_id)
  db.pragma('journal_mode = WAL')
  db.close()
  const before = digest()
  const foundation = await start(false)
  for (const { tenant_id } of [a!, b!])
    await t.rejects(async () => foundation.keys.tenant(tenant_id), {
      code: 'internal',
      message: `The keys of tenant "${tenant_id}" cannot be unwrapped`,
    })
  await foundation.close()
  t.equal(digest(), before)
})

t.test('an altered key row of the service is rejected at the start', async (t) => {
  const { database, digest, start } = await stopped(t)
  const db = new Database(database)
  for (const purpose of ['api-key', 'audit', 'check']) {
    const statement = db
      .prepare("select wrapped from tenant_keys where tenant_id = '' and purpose = ?")
      .pluck()
    const set = db.prepare("update tenant_keys set wrapped = ? where tenant_id = '' and purpose = ?")
    const right = statement.get(purpose) as Buffer
    const wrong = Buffer.from(right)
    wrong[50]! ^= 1
    set.run(wrong, purpose)
    db.pragma('wal_checkpoint(TRUNCATE)')
    const before = digest()
    await t.rejects(start(true), { code: 'invalid', message: `key "${purpose}" was modified` })
    t.equal(digest(), before)
    set.run(right, purpose)
  }
  db.close()
})
