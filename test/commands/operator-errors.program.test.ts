import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../kit/sidevault.ts'
import { openVault, twoFolders } from '../maintenance/vault.ts'
import { command } from './in-process.ts'
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
  [['keys', 'rotate-root', '--to', 'bad'], 2, /--to is not a source of a root key/],
  [['keys', 'rotate-root', '--to', 'nope:x'], 2, /no plugin of/],
  [['keys', 'rotate-root', '--to', 'env:NOPE'], 2, /"NOPE", which is not set/],
  [['audit', 'verify', '--head', 'x'], 2, /"x" is not a chain head/],
  [['plugins', 'test', missing], 2, /missing\/file" is not a folder/],
  [['plugins', 'test', file('plain')], 2, /plain" is not a folder/],
  [['plugins', 'new', join(file('plain'), 'new-one')], 1, /new-one" cannot be written \(ENOTDIR\)/],
  [['proto', '--out', file('plain')], 1, /plain" cannot be written \(E[A-Z]+\)/],
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
    const { code, out, err } = await command(here, args, env)
    t.equal(code, exit)
    t.equal(out, '')
    t.match(err, /^sidevault: [^\n]+\n$/)
    t.match(err, message)
  })

t.test('a transfer without a passphrase is wrong usage', async (t) => {
  const args = ['export', '--tenant', tenant, '--to', missing]
  t.match(await command(here, args, { SIDEVAULT_DATA_DIR: here }), {
    code: 2,
    text: /^sidevault: Set SIDEVAULT_EXPORT_PASSPHRASE [^\n]+\n$/,
  })
})

t.test('an unknown variable ends a start and a command with exit code 2', async (t) => {
  const env = { SIDEVAULT_DATA_DIR: here, SIDEVAULT_SANDBOX_REQUIRED: 'uid' }
  const rejected = {
    code: 2,
    text: /^sidevault: [^\n]+\n {2}SIDEVAULT_SANDBOX_REQUIRED: [^\n]+ SIDEVAULT_SANDBOX_REQUIRE\?\n$/,
  }
  t.match(await sidevault(here, ['start'], env), rejected)
  for (const args of [
    ['audit', 'verify'],
    ['run', '--key-env', 'KEY', '--', 'true'],
  ])
    t.match(await command(here, args, env), rejected)
})

t.test('a variable that the command line names is not an unknown one', async (t) => {
  const SIDEVAULT_TARGET = 'postgres://u@127.0.0.1:1/b'
  const env = { SIDEVAULT_DATA_DIR: here, SIDEVAULT_TARGET }
  t.match(await command(here, to('env:SIDEVAULT_TARGET'), env), { code: 1, text: /ECONNREFUSED/ })
})

t.test('the passphrase of a transfer can be in a file', async (t) => {
  writeFileSync(file('passphrase'), 'correct horse battery\n')
  const args = ['export', '--tenant', tenant, '--to', missing]
  const env = { SIDEVAULT_DATA_DIR: here, SIDEVAULT_EXPORT_PASSPHRASE_FILE: file('passphrase') }
  t.match(await command(here, args, env), { code: 1, text: /cannot be written/ })
  const both = { ...env, SIDEVAULT_EXPORT_PASSPHRASE: 'correct horse battery' }
  t.match(await command(here, args, both), {
    code: 2,
    text: /^sidevault: SIDEVAULT_EXPORT_PASSPHRASE_FILE: /,
  })
})

t.test('a root key source that is not set ends a start and a command with exit code 2', async (t) => {
  const env = {
    SIDEVAULT_DATA_DIR: here,
    SIDEVAULT_ROOT_KEY: 'env:NOPE',
    SIDEVAULT_LISTEN: `127.0.0.1:${await freePort()}`,
    SIDEVAULT_LOG_LEVEL: 'fatal',
  }
  const rejected = {
    code: 2,
    text: /^sidevault: SIDEVAULT_ROOT_KEY names the environment variable "NOPE"[^\n]+\n$/,
  }
  t.match(await sidevault(here, ['start'], env), rejected)
  t.match(await command(here, ['audit', 'verify'], env), rejected)
})

t.test('a restore without the root key asks for its copy, not for a new key', async (t) => {
  const backup = file('backup')
  t.match(await command(here, ['backup', backup], { SIDEVAULT_DATA_DIR: here }), { code: 0 })
  const { code, text } = await command(here, ['restore', backup], { SIDEVAULT_DATA_DIR: file('empty') })
  t.equal(code, 1)
  t.match(text, /needs the root key [0-9a-f]+: The root key file ".*" does not exist\. Restore its copy\./)
  t.notMatch(text, /openssl/)
})
