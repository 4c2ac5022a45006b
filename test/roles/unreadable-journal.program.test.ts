import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'

t.test('the service starts beside a journal that it cannot read, and its log names the file', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const audit = join(dataDir, 'audit')
  const file = 'operator.000001.jsonl'
  mkdirSync(audit, { recursive: true, mode: 0o700 })
  // Cannot be opened, not even by root.
  symlinkSync(file, join(audit, file))
  const service = await startSidevault({ dataDir })
  t.teardown(() => service.stop())
  t.equal((await service.call('GET', '/tenants/self', { key: service.managementKey })).status, 200)
  t.match(service.stderr(), /operator\.000001\.jsonl".*the audit journals were not ingested completely/)
})
