import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { NOW, silent } from '../kit.ts'

const WRITER = fileURLToPath(new URL('./writes-forever.ts', import.meta.url))

/** The pairs of ids acknowledged before the process was killed, in the middle of its writes. */
const killAfter = async (location: string, acknowledged: number): Promise<readonly string[]> => {
  const child = spawn(process.execPath, [WRITER, location], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    if (text.split('\n').length > acknowledged) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'close')
  t.equal(signal, 'SIGKILL')
  // An incomplete line was not acknowledged.
  return text.slice(0, text.lastIndexOf('\n')).split('\n')
}

t.test('kill -9 loses no acknowledged write, and leaves none partial', async (t) => {
  const location = join(t.testdir({}), 'a.db')
  const pairs: string[] = []
  for (const acknowledged of [40, 300, 150]) {
    pairs.push(...(await killAfter(location, acknowledged)))
    const store = await openStore({ location, mode: 'read-write', log: silent })
    const ids = pairs.flatMap((pair) => pair.split(' '))
    const rows = await store.tokens.read('tenant-a', ids, NOW)
    t.equal(rows.length, ids.length, `all of ${ids.length} are there`)
    const total = await store.tokens.count({ tenantId: 'tenant-a', now: NOW, visibility: 'all' })
    await store.close()

    const db = new Database(location, { readonly: true })
    const one = (sql: string) => db.prepare(sql).pluck().get()
    t.equal(one('pragma integrity_check'), 'ok')
    t.strictSame(db.prepare('pragma foreign_key_check').all(), [])
    const stored = one('select count(*) from tokens') as number
    t.equal(stored % 2, 0, 'pairs were written together')
    t.equal(total, stored, 'the counts agree')
    t.equal(one('select count(*) from token_terms'), stored * 2)
    t.equal(one('select count(*) from token_metadata'), stored * 2)
    db.close()
  }
})
