import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { loadDelegation } from '../../src/roles/delegation.ts'

const KEY = `svdk1.shop.${Buffer.alloc(32, 7).toString('base64url')}.tenant-1`

t.test(
  'a delegated key is rejected for another tenant, and beside journals of other processes',
  async (t) => {
    const dataDir = t.testdir()
    const file = join(dataDir, 'key')
    writeFileSync(file, KEY, { mode: 0o600 })
    const config = loadConfig({ SIDEVAULT_DATA_DIR: dataDir, SIDEVAULT_DELEGATED_KEY: `file:${file}` })
    t.match(await loadDelegation(config, 'tenant-1'), { name: 'shop', tenantId: 'tenant-1' })
    await t.rejects(loadDelegation(config, 'tenant-2'), {
      configuration: true,
      message: /is for tenant "tenant-1", not for "tenant-2".*--tenant tenant-1/,
    })
    const audit = join(dataDir, 'audit')
    mkdirSync(audit)
    writeFileSync(join(audit, 'gateway-0_shop-0123456789ab.000001.jsonl'), '')
    t.match(await loadDelegation(config, 'tenant-1'), { name: 'shop' })
    writeFileSync(join(audit, 'gateway-0-0123456789ab.000001.jsonl'), '')
    await t.rejects(loadDelegation(config, 'tenant-1'), { code: 'invalid', message: /SIDEVAULT_DATA_DIR/ })
  },
)
