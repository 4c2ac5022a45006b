import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { runBackup } from '../../src/maintenance/backup.ts'
import { runRestore } from '../../src/maintenance/restore.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'
import { newVaultDatabase } from '../kit/test-store.ts'
import { configOf, type OpenVault, openVault, twoFolders } from './vault.ts'

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
const RULES = [
  {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:read'],
  },
]

/** An application's key, and ids of its tokens by what they stand for. */
const fill = async (vault: OpenVault) => {
  const { json } = await vault.call('POST', '/applications', {
    body: { name: 'a', type: 'private', rules: RULES },
  })
  const key: string = json.key
  const create = async (body: object): Promise<string> => {
    const { status, json } = await vault.call('POST', '/tokens', { as: key, body })
    if (status !== 201) throw new Error(`no token was created: ${status} ${JSON.stringify(json)}`)
    return json.id
  }
  const card = await create({ type: 'card', data: CARD, metadata: { order: '1' } })
  const others = await Promise.all(
    Array.from({ length: 300 }, (_, at) => create({ data: `"value" \\ ${at}`, metadata: { at: `${at}` } })),
  )
  return { key, card, others, create }
}

t.test('backups of a vault in PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.close())
  const { here, there, file } = twoFolders(t)
  const source = { SIDEVAULT_STORE: await newVaultDatabase(server) }
  const vault = await openVault(here, undefined, source)
  const { key, card, others, create } = await fill(vault)
  const path = file('vault.backup')
  const restoreTo = async (dataDir: string, env: NodeJS.ProcessEnv, from = path, unverified = false) => {
    const lines: string[] = []
    const restored = await runRestore(configOf(dataDir, env), { path: from, unverified }, (line) =>
      lines.push(line),
    )
    return { restored, lines }
  }
  /** That everything is there, and that the vault goes on. */
  const opens = async (dataDir: string, env: NodeJS.ProcessEnv) => {
    const again = await openVault(dataDir, vault.key, env)
    const shown = (await again.call('GET', `/tokens/${card}`, { as: key })).json
    t.match(shown, { data: { number: CARD.number }, metadata: { order: '1' } })
    t.notOk('cvc' in shown.data, "a card's cvc does not get into backups")
    for (const at of [0, 150, 299])
      t.match((await again.call('GET', `/tokens/${others[at]}`, { as: key })).json, {
        data: `"value" \\ ${at}`,
      })
    const created = await again.call('POST', '/tokens', { as: key, body: { data: 'new' } })
    t.equal(created.status, 201, 'numbers continue')
    const { json } = await again.call('GET', '/v2/tokens?size=1', { as: key })
    t.equal(json.data[0].id, created.json.id, 'and the newest one comes first')
    await again.close()
  }

  await t.test('a backup taken during writes is one snapshot', async (t) => {
    let stop = false
    const writing = (async () => {
      while (!stop) await create({ data: 'concurrent' })
    })()
    const lines: string[] = []
    await runBackup(configOf(here, source), path, (line) => lines.push(line))
    stop = true
    await writing
    t.match(lines, [/^wrote .*: \d+ tokens, 1 tenants, \d journal files$/, /^needs .* root key/])
    t.notMatch(gunzipSync(readFileSync(path)).toString(), CARD.number)
  })
  copyFileSync(join(here, 'root.key'), join(there, 'root.key'))

  await t.test('a damaged or forged backup leaves the database empty', async (t) => {
    const empty = await server.database()
    const lines = gunzipSync(readFileSync(path)).toString().split('\n')
    const rowAt = lines.findIndex((line) => line.startsWith('{"table":"records"')) + 1
    const bad = file('bad.backup')
    const cases = {
      'cut short': readFileSync(path).subarray(0, -20),
      'without a row that others refer to': gzipSync(lines.filter((_, at) => at !== rowAt).join('\n')),
      'with a row twice': gzipSync(
        lines.flatMap((line, at) => (at === rowAt ? [line, line] : line)).join('\n'),
      ),
      'with a column of no version': gzipSync(lines.join('\n').replace('"name":"sealed"', '"name":"opened"')),
    }
    for (const [what, bytes] of Object.entries(cases)) {
      writeFileSync(bad, bytes)
      await t.rejects(
        restoreTo(there, { SIDEVAULT_STORE: empty }, bad),
        { code: 'invalid', message: /damaged.*Nothing was changed/ },
        what,
      )
    }
    writeFileSync(bad, gzipSync(lines.map((line) => line.replace(/"mac":"./, '"mac":"~')).join('\n')))
    const forged = await restoreTo(there, { SIDEVAULT_STORE: empty }, bad)
    t.match(forged, { restored: false, lines: [/^BROKEN .*its seal/, 'Nothing was restored.'] })
    const tables = await queryPostgres(empty, "select tablename from pg_tables where schemaname = 'public'")
    t.strictSame(tables, [])
    t.strictSame(readdirSync(there), ['root.key'])
  })

  await t.test('a backup is restored to an empty database only', async (t) => {
    const target = { SIDEVAULT_STORE: await server.database() }
    const { restored, lines } = await restoreTo(there, target)
    t.ok(restored)
    t.match(lines, [/^restored into the database: \d+ tokens, 1 tenants$/, /^ok .*audit chain verifies/])
    await t.rejects(restoreTo(there, target), { message: /contains a vault/ })
    await t.rejects(restoreTo(t.testdir(), target, path, true), {
      code: 'invalid',
      message: /is not empty.*[Nn]othing was changed/,
    })
    await opens(there, target)
  })

  await t.test(
    'a backup of a database is restored to a file, and a backup of a file to a database',
    async (t) => {
      const folders = t.testdir({ inFile: {}, inDatabase: {} })
      const [inFile, inDatabase] = [join(folders, 'inFile'), join(folders, 'inDatabase')]
      for (const folder of [inFile, inDatabase])
        copyFileSync(join(here, 'root.key'), join(folder, 'root.key'))
      t.ok((await restoreTo(inFile, {})).restored)
      await opens(inFile, {})
      const ofFile = file('file.backup')
      await runBackup(configOf(inFile), ofFile, () => {})
      const target = { SIDEVAULT_STORE: await server.database() }
      t.ok((await restoreTo(inDatabase, target, ofFile)).restored)
      await opens(inDatabase, target)
    },
  )
  await vault.close()
})
