import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { printVerified, verifyAudit } from '../../src/maintenance/audit.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import { copyToPostgres } from '../../src/store/migrate-store/migrate-store.ts'
import { record } from '../audit/kit.ts'
import { postgresMissing, startPostgres } from '../kit/postgres.ts'

const log = createLog('test', 'silent')

t.test(
  'journals from before a migration are carried over, once, and stay verified',
  { skip: postgresMissing() },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const dataDir = t.testdir()
    const before = loadConfig({ SIDEVAULT_DATA_DIR: dataDir })
    const first = await openRuntime(before, { name: 'admin', owner: true, log })
    await first.journal.append([record('1'), record('2')])
    await first.maintenance.catchUp()
    const to = await server.database()
    await copyToPostgres({ from: before.store, to })
    await first.journal.append([record('3')])
    await first.close()

    const after = loadConfig({ SIDEVAULT_DATA_DIR: dataDir, SIDEVAULT_STORE: to })
    const second = await openRuntime(after, { name: 'admin', owner: true, log })
    await second.journal.append([record('4')])
    t.equal(await second.maintenance.catchUp(), 2)
    t.equal(await second.maintenance.catchUp(), 0)
    t.same((await second.store.logs.find('tenant-1')).map((row) => row.entity_id).sort(), [
      '1',
      '2',
      '3',
      '4',
    ])
    await second.close()

    const verify = async () => {
      const lines: string[] = []
      const report = await verifyAudit(after)
      printVerified(report, (line) => lines.push(line))
      return { ok: report.ok, text: lines.join('\n') }
    }
    t.match(await verify(), { ok: true, text: /^ok {6}admin: 3 records\nok {6}admin-\w+: 1 records$/ })
    const audit = join(dataDir, 'audit')
    for (const file of readdirSync(audit))
      if (file.startsWith('admin.')) renameSync(join(audit, file), join(dataDir, file))
    t.match(await verify(), { ok: false, text: /^BROKEN {2}admin: .*all files of the journal are missing/ })
  },
)
