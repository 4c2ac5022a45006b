import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { createIngest } from '../../src/audit/ingest.ts'
import { createLog } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { acquireJournal } from '../../src/roles/acquire-journal.ts'
import { openStore } from '../../src/store/open.ts'
import { linesOf, mac, record, writeJournal } from '../audit/kit.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'

const log = createLog('test', 'silent')

/** A machine: a data directory and its connection to a store. */
const machine = async (t: Test, dataDir: string, location?: string) => {
  const config = loadConfig({
    SIDEVAULT_DATA_DIR: dataDir,
    ...(location === undefined ? {} : { SIDEVAULT_STORE: location }),
  })
  const store = await openStore({ location: location ?? config.store, mode: 'read-write', log })
  t.teardown(() => store.close())
  const directory = join(dataDir, 'audit')
  return {
    directory,
    open: (timeout = 60_000, process = 'admin') =>
      acquireJournal({ store, mac, log }, config, { process, sync: false, timeout }),
    ingest: () => createIngest({ logs: store.logs, mac, log }, { directory }).catchUp(),
  }
}

/** Of this database: other test files use the same server. */
const ADVISORY =
  "from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
const HELD = `select pid, classid::bigint << 32 | objid::bigint as key ${ADVISORY} and granted`

t.test(
  'copies of one data directory on one store cannot write one journal',
  { skip: postgresMissing() },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const location = await server.database()
    const dataDir = join(t.testdir({ one: {} }), 'one')
    const first = await machine(t, dataDir, location)
    const copied = await first.open()
    await copied.append([record('1')])
    await copied.close()
    const copy = join(dataDir, '..', 'two')
    cpSync(dataDir, copy, { recursive: true })
    const second = await machine(t, copy, location)

    const journal = await first.open()
    await t.rejects(second.open(0), {
      code: 'gateway_timeout',
      message: /Another live process of this store.*copy.*remove "replica-id" and the folder "audit"/,
    })
    await journal.append([record('2')])
    await first.ingest()

    await t.test('a lost connection is reopened, and the name stays locked', async (t) => {
      const [before] = await queryPostgres<{ pid: number }>(location, HELD)
      await queryPostgres(location, 'select pg_terminate_backend($1)', [before!.pid])
      const held = () => queryPostgres<{ pid: number }>(location, HELD)
      while (((await held())[0]?.pid ?? before!.pid) === before!.pid) await setTimeout(20)
      await journal.append([record('3')])
      await t.rejects(second.open(0), { code: 'gateway_timeout' })
    })

    await t.test(
      'a writer whose name was acquired by another while the store was down stops writing',
      async (t) => {
        const [held] = await queryPostgres<{ pid: number; key: string }>(location, HELD)
        const other = new Client({ connectionString: location })
        await other.connect()
        const waiting = other.query('select pg_advisory_lock($1)', [held!.key])
        const isWaiting = `select 1 ${ADVISORY} and not granted`
        while ((await queryPostgres(location, isWaiting)).length === 0) await setTimeout(20)
        await queryPostgres(location, 'select pg_terminate_backend($1)', [held!.pid])
        await waiting
        for (;;) {
          const issue = await journal.health().catch((thrown: unknown) => thrown)
          if (issue !== undefined) break
          await setTimeout(20)
        }
        await t.rejects(journal.append([record('4')]), {
          code: 'gateway_timeout',
          message: /discloses nothing/,
        })
        await journal.close()
        await other.end()
      },
    )

    await first.ingest()
    await t.rejects(second.open(), {
      code: 'gateway_timeout',
      message: /does not match the store .*the record that was ingested last is missing/,
    })
    await (await first.open()).close()
  },
)

t.test("a journal cut, removed or replaced without the store's knowledge is not continued", async (t) => {
  const dataDir = join(t.testdir({ one: { audit: {} } }), 'one')
  const replica = await machine(t, dataDir)
  await writeJournal(replica.directory, 2, 'admin')
  const older = join(dataDir, '..', 'older')
  cpSync(replica.directory, older, { recursive: true })
  await writeJournal(replica.directory, 2, 'admin')
  await replica.ingest()
  cpSync(older, replica.directory, { recursive: true })
  await t.rejects(replica.open(), { message: /acknowledge-loss --journal admin" continues without them\.$/ })
  t.equal(linesOf(replica.directory, 'admin').length, 2)
})

t.test('a second command reports that another command is running', async (t) => {
  const replica = await machine(t, t.testdir({ audit: {} }))
  const first = await replica.open(60_000, 'operator')
  await t.rejects(replica.open(60_000, 'operator'), { message: /^Another sidevault command is running/ })
  await first.close()
  await (await replica.open(60_000, 'operator')).close()
})
