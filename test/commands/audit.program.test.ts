import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { sidevault } from './run.ts'

t.test(
  'a service whose journal lost its last record reports how to continue, and then continues',
  async (t) => {
    const dataDir = directoryFor(t)
    const cwd = t.testdir()
    const audit = (...args: string[]) => sidevault(cwd, ['audit', ...args], { SIDEVAULT_DATA_DIR: dataDir })
    const first = await startSidevault({ dataDir })
    const key = await first.application({ permissions: ['token:create'] })
    await first.call('POST', '/tokens', { key, body: { data: 'kept' } })
    await first.stop()
    t.match(await audit('verify'), { code: 0, text: /^ok {6}admin: \d+ records$/m })

    const file = join(dataDir, 'audit', 'admin.000001.jsonl')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"hash":"....([^\n]*\n)$/, '"hash":"0000$1'))
    const rejection = await startSidevault({ dataDir }).then(
      async (running) => {
        await running.stop()
        return 'it started'
      },
      (thrown: Error) => thrown.message,
    )
    t.match(
      rejection,
      /admin.*not the one that was ingested.*sidevault audit acknowledge-loss --journal admin/,
    )
    const [verified, anonymous, gateway, unsure] = await Promise.all([
      audit('verify'),
      audit('acknowledge-loss', '--journal', 'unknown'),
      audit('acknowledge-loss', '--journal', 'gateway-0'),
      audit('acknowledge-loss', '--journal', 'admin'),
    ])
    t.match(verified, { code: 1, text: /^BROKEN {2}admin: .*\n(?:.*\n)*.*acknowledge-loss/ })
    t.match(anonymous, { code: 1, text: /Existing journals: admin, gateway-0/ })
    t.match(gateway, { code: 0, text: /nothing is lost/ })
    t.match(unsure, { code: 1, text: /Nothing was changed.*--yes/ })
    t.equal(readdirSync(join(dataDir, 'audit')).filter((name) => name.includes('damaged')).length, 0)
    t.match(await audit('acknowledge-loss', '--journal', 'admin', '--yes'), {
      code: 0,
      text: /^moved {3}admin\..*damaged/m,
    })

    const second = await startSidevault({ dataDir })
    t.teardown(() => second.stop())
    t.equal((await second.call('POST', '/tokens', { key, body: { data: 'more' } })).status, 201)
    const { journals } = JSON.parse((await audit('verify', '--json')).text)
    t.match(journals, [
      { name: 'admin', records: Number, acknowledged_losses: [{ message: /are lost/, created_at: /^20/ }] },
      { name: 'gateway-0', acknowledged_losses: [] },
    ])
    t.match(await audit('verify'), {
      code: 0,
      text: /^loss {4}admin: acknowledged by record \d+ at .*Records from \d+ on are lost/m,
    })

    const db = new Database(join(dataDir, 'sidevault.db'))
    t.match(await audit('verify', '--rows'), { code: 0, text: /^ok {6}admin: \d+ rows$/m })
    const journal = "journal = 'admin'"
    const head = db
      .prepare(`select journal_seq, hash from logs where ${journal} and journal_seq = 1`)
      .get() as {
      hash: string
    }
    t.match(await audit('verify', '--head', `admin:1:${head.hash}`), { code: 0 })
    t.match(await audit('verify', '--head', 'admin:1'), { code: 2, text: /<journal>:<seq>:<hash>/ })
    db.exec(`update logs set actor_id = 'somebody else' where ${journal} and journal_seq = 2`)
    db.close()
    t.match(await audit('verify'), { code: 0 }, 'the files are as they were')
    t.match(await audit('verify', '--rows'), {
      code: 1,
      text: /^BROKEN {2}admin: row 2: .*row was altered/m,
    })
    const rows = await audit('verify', '--rows', '--json')
    t.equal(rows.code, 1)
    t.match(JSON.parse(rows.text), {
      ok: false,
      journals: [{ name: 'admin', rows: 1, issue: { seq: 2, reason: /altered/ } }],
    })
  },
)
