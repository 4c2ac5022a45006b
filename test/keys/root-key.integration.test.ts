import { execFile } from 'node:child_process'
import { randomBytes, scryptSync } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { shellQuote } from '../../src/common/shell-quote.ts'
import { loadRootKey } from '../../src/keys/root-key.ts'
import { problemOf } from '../kit/problem.ts'

const run = promisify(execFile)

t.test('the first start creates a key file for its owner only; later starts read it', async (t) => {
  const dataDir = join(t.testdir(), 'data', 'deeper')
  const first = await loadRootKey(undefined, { dataDir, create: true, env: {} })
  const path = join(dataDir, 'root.key')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(dataDir).mode & 0o777, 0o700)
  t.match(readFileSync(path, 'utf8'), /^[A-Za-z0-9+/]{43}=\n$/)
  t.equal(first.reveal().length, 32)
  for (const create of [true, false]) {
    const again = await loadRootKey(undefined, { dataDir, create, env: {} })
    t.same(again.reveal(), first.reveal())
  }
  t.same(readdirSync(dataDir), ['root.key'], 'nothing else is left behind')
})

t.test('without permission to create, a missing key file is rejected and not created', async (t) => {
  const dataDir = t.testdir()
  const problem = await problemOf(loadRootKey(undefined, { dataDir, create: false, env: {} }))
  t.match(problem, /^invalid: The root key file ".*root\.key" does not exist\. Restore its copy\.$/)
  t.same(readdirSync(dataDir), [])
})

t.test('concurrent starts in several processes agree on one key', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const module = new URL('../../src/keys/root-key.ts', import.meta.url)
  const code = `const { loadRootKey } = await import(${JSON.stringify(module)})
    const keys = await Promise.all([1, 2, 3, 4].map(() =>
      loadRootKey(undefined, { dataDir: ${JSON.stringify(dataDir)}, create: true, env: {} })))
    for (const key of keys) console.log(key.reveal().toString('hex'))`
  const starters = Array.from({ length: 4 }, () =>
    run(process.execPath, ['--input-type=module', '--eval', code]),
  )
  const keys = (await Promise.all(starters)).flatMap(({ stdout }) => stdout.trim().split('\n'))
  t.equal(keys.length, 16)
  t.equal(new Set(keys).size, 1)
  t.same(readdirSync(dataDir), ['root.key'])
})

t.test('a key file that others may read is rejected with the command that fixes it', async (t) => {
  const dataDir = t.testdir({ 'root.key': randomBytes(32).toString('base64') })
  const path = join(dataDir, 'root.key')
  for (const mode of [0o644, 0o640, 0o604, 0o660]) {
    chmodSync(path, mode)
    const problem = await problemOf(loadRootKey(undefined, { dataDir, create: true, env: {} }))
    t.match(problem, /open to other users/)
    t.ok(problem.includes(`chmod 600 ${shellQuote(path)}`))
  }
  if (process.getuid?.() === 0) {
    chmodSync(path, 0o440)
    const problem = () => problemOf(loadRootKey(undefined, { dataDir, create: true, env: {} }))
    const groups = process.getgroups?.() ?? []
    const theirs = Math.max(...groups) + 1
    chownSync(path, 12_345, theirs)
    t.match(await problem(), /open to other users/, 'a group that is not ours')
    chownSync(path, 12_345, process.getgid?.() ?? 0)
    await loadRootKey(undefined, { dataDir, create: true, env: {} }) // given to us by a group, as a mounted secret is
    chmodSync(path, 0o444)
    t.match(await problem(), /open to other users/, 'and to everybody')
    chownSync(path, 0, 0)
  }
  chmodSync(path, 0o400)
  t.equal((await loadRootKey(undefined, { dataDir, create: true, env: {} })).reveal().length, 32)
})

t.test('keys are read as base64, base64url or hex from a file or the environment', async (t) => {
  const key = Buffer.concat([Buffer.from([0xfb, 0xff]), randomBytes(30)])
  const dataDir = t.testdir()
  const path = join(dataDir, 'elsewhere')
  for (const text of [
    key.toString('base64'),
    key.toString('base64url'),
    `  ${key.toString('hex')}\n`,
    key.toString('hex').toUpperCase(),
  ]) {
    writeFileSync(path, text, { mode: 0o600 })
    const options = { dataDir, create: false, env: { THE_KEY: text } }
    t.same((await loadRootKey(`file:${path}`, options)).reveal(), key)
    t.same((await loadRootKey('env:THE_KEY', options)).reveal(), key)
  }
})

t.test('an invalid key is rejected with a fix that quotes nothing of it', async (t) => {
  const dataDir = t.testdir()
  mkdirSync(join(dataDir, 'folder'), { mode: 0o700 })
  const marker = 'Kx9MarkerKx9'
  writeFileSync(join(dataDir, 'bad'), marker, { mode: 0o600 })
  writeFileSync(join(dataDir, 'large'), marker.repeat(1000), { mode: 0o600 })
  const env = { BAD: marker, EMPTY: '', SHORT: 'Kx9' }
  const cases: readonly (readonly [string, RegExp])[] = [
    [`file:${join(dataDir, 'bad')}`, /does not contain a root key: 32 bytes.*digits\.$/],
    [`file:${join(dataDir, 'large')}`, /not a key file/],
    [`file:${join(dataDir, 'folder')}`, /not a key file/],
    ['file:/dev/zero', /not a key file/],
    [`file:${join(dataDir, 'none')}`, /does not exist\. Restore its copy\.$/],
    [`file:${join(dataDir, 'bad', 'below')}`, /ENOTDIR/],
    ['env:BAD', /variable "BAD" does not contain a root key/],
    ['env:NONE', /"NONE", which is not set/],
    ['env:EMPTY', /"EMPTY", which is not set/],
    ['passphrase:Kx9', /too short: at least 12/],
    ['passphrase:env:SHORT', /too short: at least 12/],
    ['passphrase:env:NONE', /"NONE", which is not set/],
    [`passphrase:${marker}`, /root\.salt" does not exist/],
    [marker, /must be file:<path>, env:<NAME>, passphrase:<text>/],
    [`vault:${marker}`, /must be file:<path>/],
    ['file:', /must be file:<path>/],
  ]
  for (const [source, expected] of cases) {
    const problem = await problemOf(loadRootKey(source, { dataDir, create: false, env }))
    t.match(problem, expected, source.slice(0, 12))
    t.match(problem, /^invalid: /)
    t.notOk(problem.includes('Kx9'), 'shows nothing of the key')
  }
})

t.test('only for a new store the fix is to create a root key', async (t) => {
  const dataDir = t.testdir({ bad: 'x' })
  chmodSync(join(dataDir, 'bad'), 0o600)
  for (const [name, fix] of [
    ['none', /umask 077; openssl rand/],
    ['bad', /To create one: openssl rand/],
  ] as const) {
    const source = `file:${join(dataDir, name)}`
    t.match(await problemOf(loadRootKey(source, { dataDir, create: true, env: {} })), fix)
    t.notMatch(await problemOf(loadRootKey(source, { dataDir, create: false, env: {} })), /openssl/)
  }
})

t.test('a passphrase gives the same key with its salt file, and another one with another salt', async (t) => {
  const dataDir = t.testdir()
  const source = 'passphrase:env:PHRASE'
  const env = { PHRASE: 'correct horse battery staple é' }
  const key = (await loadRootKey(source, { dataDir, create: true, env })).reveal()
  const salt = Buffer.from(readFileSync(join(dataDir, 'root.salt'), 'utf8'), 'base64')
  t.equal(statSync(join(dataDir, 'root.salt')).mode & 0o777, 0o600)
  const expected = scryptSync(env.PHRASE.normalize('NFC'), salt, 32, {
    N: 131072,
    r: 8,
    p: 1,
    maxmem: 2 ** 28,
  })
  t.same(key, expected)
  const decomposed = `passphrase:${env.PHRASE.normalize('NFD')}`
  t.same((await loadRootKey(decomposed, { dataDir, create: false, env })).reveal(), key, 'any Unicode form')
  const other = t.testdir({ other: {} })
  const otherKey = await loadRootKey(source, { dataDir: join(other, 'other'), create: true, env })
  t.notSame(otherKey.reveal(), key)
  writeFileSync(join(dataDir, 'root.salt'), 'AAAA', { mode: 0o600 })
  t.match(await problemOf(loadRootKey(source, { dataDir, create: true, env })), /salt file .* is damaged/)
})
