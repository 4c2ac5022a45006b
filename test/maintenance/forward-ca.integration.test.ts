import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runBackup } from '../../src/maintenance/backup.ts'
import { printCa, rotateCa } from '../../src/maintenance/ca.ts'
import { runRotateRoot } from '../../src/maintenance/keys.ts'
import { migrateStore } from '../../src/maintenance/migrate-store.ts'
import { runRestore } from '../../src/maintenance/restore.ts'
import { postgresMissing, startPostgres } from '../kit/postgres.ts'
import { newVaultDatabase } from '../kit/test-store.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

const quiet = () => {}

const printed = async (config: ReturnType<typeof configOf>): Promise<string> => {
  const lines: string[] = []
  await printCa(config, (line) => lines.push(line))
  return lines.join('\n')
}

t.test('root key rotation, backup and restore include the authority; commands are recorded', async (t) => {
  const { here, there, file } = twoFolders(t)
  const vault = await openVault(here)
  const config = configOf(here)
  const pem = await printed(config)
  t.match(pem, /^-----BEGIN CERTIFICATE-----/)
  t.equal(await printed(config), pem)
  await runRotateRoot(config, { to: undefined, finish: false }, quiet)
  t.equal(await printed(config), pem, 'under another root key')
  await rotateCa(config, false, quiet)
  const both = await printed(config)
  t.ok(both.startsWith(pem) && both.length > pem.length)
  const path = file('vault.backup')
  await runBackup(config, path, quiet)
  await vault.maintenance.catchUp()
  await vault.close()
  const restored = configOf(there)
  await runRestore(restored, { path, unverified: true }, quiet)
  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))
  t.equal(await printed(restored), both)
  const journal = readFileSync(join(here, 'audit', 'operator.000001.jsonl'), 'utf8')
  t.match(journal, /"service","forward-ca","update","Rotation of the certificate authority requested"/)
})

t.test('a migration to PostgreSQL includes the authority', { skip: postgresMissing() }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.close())
  const { here } = twoFolders(t)
  await (await openVault(here)).close()
  const pem = await printed(configOf(here))
  const address = await newVaultDatabase(server)
  await migrateStore(configOf(here), address, quiet, quiet)
  t.equal(await printed(configOf(here, { SIDEVAULT_STORE: address })), pem)
  await rotateCa(configOf(here, { SIDEVAULT_STORE: address }), true, quiet)
})
