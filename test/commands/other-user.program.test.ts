import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { rejectAbsent } from '../../src/maintenance/open-vault.ts'
import { stage } from '../../src/maintenance/staging-directory.ts'
import { sidevault, UNPRIVILEGED } from './run.ts'

const POSTGRES = 'postgres://u@127.0.0.1:1/b'
const ON_FILES = [
  ['backup', 'b'],
  ['audit', 'verify'],
  ['keys', 'rotate-data'],
  ['migrate-store', '--to', POSTGRES],
]
const ON_SOCKETS = [['reload'], ['tenants', 'list'], ['tenants', 'create', 'Second']]

t.test('a command reports a missing permission, not an absent vault or service', async (t) => {
  const cwd = t.testdir()
  const dataDir = join(cwd, 'data')
  const [run, database] = [join(dataDir, 'run'), join(dataDir, 'sidevault.db')]
  mkdirSync(run, { recursive: true })
  writeFileSync(database, '')
  const close = (mode: number, ...paths: string[]) => {
    for (const path of paths) chmodSync(path, mode)
  }
  const reports = async (args: readonly string[], what: RegExp) => {
    const { code, text } = await sidevault(cwd, args, { SIDEVAULT_DATA_DIR: dataDir }, UNPRIVILEGED)
    t.equal(code, 1, args.join(' '))
    t.match(
      text,
      /^sidevault: [^\n]+ cannot be opened \(EACCES\)\. Run the command as the user of the service\.\n$/,
    )
    t.match(text, what)
  }

  close(0, run, database)
  for (const args of ON_FILES) await reports(args, /The database ".*sidevault\.db"/)
  for (const args of ON_SOCKETS) await reports(args, /The service's socket ".*\/run\/\w+\.sock"/)
  close(0, dataDir)
  await reports(['backup', 'b'], /The database /)
  await reports(['reload'], /The data directory /)
  close(0o700, dataDir, run, database)
})

t.test('a command of a user who does not own the vault creates no file in it', async (t) => {
  const dataDir = t.testdir({ 'sidevault.db': '', audit: {} })
  const { geteuid } = process
  t.teardown(() => Object.assign(process, { geteuid }))
  const uid = geteuid?.() ?? 0
  for (const env of [{}, { SIDEVAULT_STORE: POSTGRES }]) {
    const config = loadConfig({ SIDEVAULT_DATA_DIR: dataDir, ...env })
    process.geteuid = () => uid
    t.doesNotThrow(() => rejectAbsent(config))
    process.geteuid = () => uid + 1
    const message = new RegExp(`belongs to another user \\(uid ${uid}\\)\\. .*sudo -u '#${uid}'`)
    t.throws(() => rejectAbsent(config), { message })
    await t.rejects(stage(config), { message })
  }
})
