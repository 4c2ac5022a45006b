import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openJournal } from '../../src/audit/journal.ts'
import { createLog } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { writeTrustBundle } from '../../src/egress/trust-bundle.ts'
import { printVerified, verifyAudit } from '../../src/maintenance/audit.ts'
import { runBackup } from '../../src/maintenance/backup.ts'
import { runRestore } from '../../src/maintenance/restore.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import { record } from '../audit/kit.ts'

const log = createLog('test', 'silent')

const filesIn = (directory: string) => readdirSync(directory).filter((file) => file.endsWith('.jsonl'))

t.test('stored audit files are removed while the service runs, and a backup accounts for it', async (t) => {
  const base = t.testdir({ here: {}, there: {} })
  const here = join(base, 'here')
  const there = join(base, 'there')
  const directory = join(here, 'audit')
  const configOf = (dataDir: string, days: string) =>
    loadConfig({ SIDEVAULT_DATA_DIR: dataDir, SIDEVAULT_AUDIT_RETENTION_DAYS: days })
  const { keys, maintenance, metrics, close, reload } = await openRuntime(configOf(here, 'forever'), {
    name: 'admin',
    owner: true,
    log,
  })
  const mac = (data: string | Buffer) => keys.mac('audit', data)
  const writing = await openJournal({ mac, log }, { directory, name: 'gateway-0', segmentBytes: 500 })
  for (let index = 0; index < 20; index++) await writing.append([record(`id-${index}`)])
  t.equal(await maintenance.catchUp(), 20)
  t.ok(filesIn(directory).length > 5)
  await reload(configOf(here, '0'), await writeTrustBundle(base))
  maintenance.start()
  while (filesIn(directory).length > 2) await setTimeout(20)
  t.equal(await maintenance.health(), 'ok')
  const text = await metrics.registry.metrics()
  t.match(text, /^sidevault_audit_journal_files 2$/m)
  t.match(text, /^sidevault_audit_journal_bytes \d{3,4}$/m)
  t.match(text, /^sidevault_audit_backlog_seconds 0?[\d.]+$/m)
  t.match(text, /^sidevault_data_disk_free_bytes \d{6,}/m)

  const verify = async (dataDir: string) => {
    const lines: string[] = []
    const report = await verifyAudit(configOf(dataDir, '0'))
    printVerified(report, (line) => lines.push(line))
    return { ok: report.ok, lines }
  }
  const removed = /^removed gateway-0: records 1 to 1\d, by retention, 20.*; the store has them$/
  const verified = await verify(here)
  t.equal(verified.ok, true)
  t.ok(verified.lines.some((line) => removed.test(line)))

  const path = join(base, 'vault.backup')
  await runBackup(configOf(here, '0'), path, () => {})
  await writing.append([record('later')])
  await writing.close()
  await maintenance.stop()
  await close()
  cpSync(join(here, 'root.key'), join(there, 'root.key'))
  t.ok(await runRestore(configOf(there, '0'), { path, unverified: false }, () => {}))
  const restored = await verify(there)
  t.equal(restored.ok, true)
  t.ok(restored.lines.some((line) => removed.test(line)))
})
