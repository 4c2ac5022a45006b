import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openVault, twoFolders } from '../maintenance/vault.ts'
import { sidevault } from './run.ts'

const { here, file } = twoFolders(t)
mkdirSync(here, { recursive: true })
const vault = await openVault(here)
const { id: tenant } = (await vault.call('GET', '/tenants/self')).json
await vault.close()
writeFileSync(file('plain'), '')

const missing = join(here, 'missing', 'file')
const to = (address: string) => ['migrate-store', '--to', address]
const CASES: readonly [readonly string[], number, RegExp][] = [
  [to('notaurl'), 2, /--to .*postgres:\/\/user/],
  [to('http://a.test/b'), 2, /--to .*postgres:\/\/user/],
  [to('postgres://u@a.test/b?sslmode=require'), 2, /--to .*sslmode=verify-full/],
  [to('env:NOT_SET'), 2, /"NOT_SET" of --to/],
  [to('postgres://u@127.0.0.1:1/b'), 1, /PostgreSQL cannot be used \(ECONNREFUSED\).*--to/],
  [['backup', missing], 1, /missing\/file\.partial" cannot be written \(ENOENT\)/],
  [['backup', join(file('plain'), 'file')], 1, /\(ENOTDIR\)/],
  [
    ['export', '--tenant', tenant, '--to', missing],
    1,
    /missing\/file\.partial" cannot be written \(ENOENT\)/,
  ],
]

for (const [args, exit, message] of CASES)
  t.test(`${args.join(' ').replaceAll(here, '')} ends with one line and exit code ${exit}`, async (t) => {
    const env = { SIDEVAULT_DATA_DIR: here, SIDEVAULT_EXPORT_PASSPHRASE: 'correct horse battery' }
    const { code, text } = await sidevault(here, args, env)
    t.equal(code, exit)
    t.match(text, /^sidevault: [^\n]+\n$/)
    t.match(text, message)
  })
