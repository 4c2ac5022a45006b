import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { acknowledgeAuditLoss } from '../../src/maintenance/audit.ts'
import { runBackup } from '../../src/maintenance/backup.ts'
import { runRestore } from '../../src/maintenance/restore.ts'
import { smallDisk } from '../faults/disk.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
/** Line separators of Unicode, which JSON does not escape. */
const SEPARATED = 'one\u2028two\u2029three'
const RULES = [
  {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:read'],
  },
]

t.test('a backup taken during writes is one snapshot of the vault, and can be restored', async (t) => {
  const { here, there, file } = twoFolders(t)
  const vault = await openVault(here)
  const application = { name: SEPARATED, type: 'private', rules: RULES }
  const { json } = await vault.call('POST', '/applications', { body: application })
  const ids: string[] = []
  const create = async (body: unknown) => {
    ids.push((await vault.call('POST', '/tokens', { as: json.key, body })).json.id)
  }
  await create({ type: 'card', data: CARD, metadata: { order: SEPARATED } })
  for (let i = 1; i < 30; i++) await create({ data: `value ${i}` })
  await vault.call('POST', '/tokens', { as: json.key, body: { data: 'hidden', egress_only: true } })
  const before = [...ids]
  let stop = false
  const writing = (async () => {
    while (!stop) await create({ data: 'concurrent' })
  })()
  const lines: string[] = []
  const path = file('vault.backup')
  await runBackup(configOf(here), path, (line) => lines.push(line))
  stop = true
  await writing
  await vault.close()
  t.match(lines, [
    /^wrote .*vault\.backup: \d+ tokens, 1 tenants, 2 journal files$/,
    /^needs .* root key [0-9a-f]{16}, which is not included/,
  ])
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.notOk(existsSync(`${path}.partial`))
  const text = gunzipSync(readFileSync(path)).toString()
  t.notMatch(text, CARD.number)
  t.notOk(text.includes(readFileSync(join(here, 'root.key'), 'utf8').trim()), 'the root key is not in it')
  t.notMatch(text, /"table":"idempotency_keys"/, 'what lives for hours is not')

  const reported: string[] = []
  const restore = (unverified: boolean) =>
    runRestore(configOf(there), { path, unverified }, (line) => reported.push(line))
  await t.rejects(restore(false), { code: 'invalid', message: /root\.key" does not exist.*--unverified/ })
  t.same(readdirSync(there), [])
  t.ok(await restore(true))
  t.match(reported.at(-1), /^UNVERIFIED .*root\.key" does not exist/)
  await t.rejects(
    runRestore(configOf(there), { path, unverified: false }, () => {}),
    { message: /contains a vault/ },
  )
  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))

  const restored = await openVault(there, vault.key)
  const cards = await restored.call('GET', `/tokens/${ids[0]}`, { as: json.key })
  t.match(cards.json, { data: { number: CARD.number }, metadata: { order: SEPARATED } })
  t.match((await restored.call('GET', '/applications')).json, { data: [{ name: SEPARATED }] })
  t.equal(await restored.store.tenants.hasEgressOnly(cards.json.tenant_id), true, 'its responses are guarded')
  t.notOk('cvc' in cards.json.data, "a card's cvc does not get into backups")
  for (const [at, id] of before.entries())
    if (at > 0)
      t.match((await restored.call('GET', `/tokens/${id}`, { as: json.key })).json, { data: `value ${at}` })
  const { json: page } = await restored.call('GET', '/tokens?size=100', { as: json.key })
  t.ok(page.pagination.total_items >= 30 && page.pagination.total_items <= ids.length)
  t.equal((await restored.call('POST', '/tokens', { as: json.key, body: { data: 'new' } })).status, 201)
  await restored.close()
})

t.test('with the root key in place a restore checks the seal and the audit chain', async (t) => {
  const { here, there, file } = twoFolders(t)
  const vault = await openVault(here)
  await vault.tenant('second')
  await vault.close()
  const path = file('vault.backup')
  t.ok(await runBackup(configOf(here), path, () => {}))
  await t.rejects(
    runBackup(configOf(here), path, () => {}),
    { message: /already exists/ },
  )
  writeFileSync(`${path}2.partial`, 'of another run')
  await t.rejects(
    runBackup(configOf(here), `${path}2`, () => {}),
    { code: 'invalid', message: /2\.partial" exists: another run/ },
  )
  t.equal(readFileSync(`${path}2.partial`, 'utf8'), 'of another run', 'what is not its own stays')
  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))
  const reported: string[] = []
  t.ok(await runRestore(configOf(there), { path, unverified: false }, (line) => reported.push(line)))
  t.match(reported, [/^restored .*2 tenants$/, /^ok .*audit chain verifies/])
})

t.test(
  'a backup of a broken journal is reported when it is made, and restores with --unverified only',
  async (t) => {
    const { here, there, file } = twoFolders(t)
    const vault = await openVault(here)
    await vault.call('POST', '/applications', { body: { name: 'A', type: 'private', rules: RULES } })
    await vault.close()
    const journal = join(here, 'audit', 'admin.000001.jsonl')
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"create"', '"update"'))
    const path = file('vault.backup')
    const lines: string[] = []
    const print = (line: string) => void lines.push(line)
    t.notOk(await runBackup(configOf(here), path, print))
    t.match(lines.slice(1), [/^needs/, /^BROKEN {2}admin: .*line 1.*altered/, /acknowledge-loss/])
    copyFileSync(join(here, 'root.key'), join(there, 'root.key'))
    lines.length = 0
    t.notOk(await runRestore(configOf(there), { path, unverified: false }, print))
    t.match(lines, [/^BROKEN {2}admin: the line was altered/, /^Nothing was restored\..*--unverified/])
    t.same(readdirSync(there), ['root.key'])
    t.ok(await runRestore(configOf(there), { path, unverified: true }, print))
    t.match(lines.slice(-3), [/^BROKEN/, /^restored .*1 tenants/, /^UNVERIFIED .*audit verify/])
    await acknowledgeAuditLoss(configOf(there), { journal: 'admin', yes: true }, print)
    const restored = await openVault(there, vault.key)
    t.equal((await restored.call('GET', '/tenants/self')).status, 200)
    await restored.close()
  },
)

const disk = smallDisk(1)
t.test(
  'a restore to a full disk reports that',
  { skip: typeof disk === 'string' ? disk : false },
  async (t) => {
    if (typeof disk === 'string') return
    t.teardown(disk.unmount)
    const { here, file } = twoFolders(t)
    const vault = await openVault(here)
    await vault.close()
    const path = file('vault.backup')
    await runBackup(configOf(here), path, () => {})
    writeFileSync(join(disk.path, 'other'), Buffer.alloc(900 * 1024))
    const there = join(disk.path, 'data')
    await t.rejects(
      runRestore(configOf(there), { path, unverified: true }, () => {}),
      { code: 'invalid', message: /cannot be written \((ENOSPC|SQLITE_FULL)\).*free space/ },
    )
    t.same(readdirSync(there), [])
  },
)

t.test('a damaged, truncated or foreign file restores nothing', async (t) => {
  const { here, there, file } = twoFolders(t)
  const vault = await openVault(here)
  await vault.close()
  const path = file('vault.backup')
  await runBackup(configOf(here), path, () => {})
  const whole = readFileSync(path)
  const lines = gunzipSync(whole).toString().split('\n')
  const zipped = (changed: readonly string[]) => gzipSync(changed.join('\n'))
  const rowAt = lines.findIndex((line) => line.startsWith('["'))
  const flipped = Buffer.from(whole)
  flipped[Math.floor(whole.length / 2)]! ^= 4
  const files: Readonly<Record<string, Buffer>> = {
    'a bit flipped': flipped,
    'cut in the middle': whole.subarray(0, whole.length / 2),
    'cut at the end': whole.subarray(0, -1),
    'without its last line': zipped([...lines.slice(0, -2), '']),
    'without a row': zipped(lines.filter((_, at) => at !== rowAt)),
    'with a row twice': zipped(lines.flatMap((line, at) => (at === rowAt ? [line, line] : line))),
    'with lines behind its end': zipped([...lines.slice(0, -1), lines[1]!, '']),
    'no gzip': Buffer.from(lines.join('\n')),
    empty: Buffer.alloc(0),
    'of another program': gzipSync('{"hello":1}\n'),
    'of 0.1.0': zipped([lines[0]!.replace(/"schema":\d+/, '"schema":1'), ...lines.slice(1)]),
    'of the future': zipped([lines[0]!.replace('"format":1', '"format":2'), ...lines.slice(1)]),
  }
  for (const [what, bytes] of Object.entries(files)) {
    const damaged = file('damaged.backup')
    writeFileSync(damaged, bytes)
    await t.rejects(
      runRestore(configOf(there), { path: damaged, unverified: false }, () => {}),
      {
        code: 'invalid',
        message: /is damaged.*Nothing was changed|is not a backup|newer Sidevault|of Sidevault 0\.1\.0/,
      },
      what,
    )
    t.strictSame(readdirSync(there), [], `nothing is left of one that is ${what}`)
  }
  await t.rejects(
    runRestore(configOf(there), { path: file('nothing'), unverified: false }, () => {}),
    { message: /does not exist/ },
  )
  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))
  const sealedByAnother = file('forged.backup')
  const forged = lines.map((line) => line.replace(/"mac":"./, '"mac":"~'))
  writeFileSync(sealedByAnother, zipped(forged))
  const reported: string[] = []
  const forgery = { path: sealedByAnother, unverified: true }
  t.notOk(await runRestore(configOf(there), forgery, (line) => reported.push(line)))
  t.match(reported, [/^BROKEN .*its seal does not match/, 'Nothing was restored.'])
  t.same(readdirSync(there), ['root.key'])
  for (const left of ['sidevault.db-wal', 'sidevault.db-journal', 'sidevault.db.restoring']) {
    writeFileSync(join(there, left), 'old')
    await t.rejects(
      runRestore(configOf(there), { path, unverified: false }, () => {}),
      { code: 'invalid', message: /files of one|exists/ },
      left,
    )
    t.same(readdirSync(there).sort(), ['root.key', left], 'neither replaced nor removed')
    rmSync(join(there, left))
  }
  t.ok(
    await runRestore(configOf(there), { path, unverified: false }, () => {}),
    'the folder is as good as new',
  )
  t.same(readdirSync(there).sort(), ['audit', 'root.key', 'sidevault.db'])
})
