import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import Database from 'better-sqlite3'
import t from 'tap'
import { acknowledgeLoss } from '../../src/audit/acknowledge-loss.ts'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { createRowMonitor } from '../../src/audit/row-monitor.ts'
import { verifyRows } from '../../src/audit/verify-rows.ts'
import { mac, openLogs, record, recordingLog, type Test, writeJournal } from './kit.ts'

const NAME = 'gateway-1'
const RECORDS = 12
const BROKEN = 7

/** A journal whose records are rows, and a way to alter the rows behind the service. */
const setUp = async (t: Test) => {
  const { directory, location, logs } = await openLogs(t)
  const ingest = () => createIngest({ logs, mac, log: recordingLog().log }, { directory }).catchUp()
  await writeJournal(directory, RECORDS)
  await ingest()
  const db = new Database(location)
  t.teardown(async () => void db.close())
  return {
    directory,
    logs,
    db,
    ingest,
    verify: (options = {}) => verifyRows({ journalMac: () => mac, logs }, options),
    position: async () => ({ journal: NAME, ...(await logs.position(NAME))! }),
  }
}

t.test('unchanged rows verify, also records with odd text and a token number', async (t) => {
  const { directory, logs, ingest, verify } = await setUp(t)
  const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: NAME })
  await journal.append([
    record('a\0b\ud800', {
      message: `${'x'.repeat(249)}\u{1f600}`,
      actor_id: null,
      actor_type: null,
      token_seq: 7,
    }),
    record('last', { tenant_id: 'tenant-2' }),
  ])
  await journal.close()
  await ingest()
  t.strictSame(await verify(), [{ name: NAME, rows: RECORDS + 2 }])
  t.match((await logs.rows(NAME, RECORDS, 1))[0], { entity_id: 'a\ufffdb\ufffd', token_seq: 7 })
})

t.test('an edit of any column of a row is found', async (t) => {
  const { db, verify } = await setUp(t)
  const columns = (db.pragma('table_info(logs)') as { name: string; type: string }[]).filter(
    ({ name }) => name !== 'seq',
  )
  t.ok(columns.length >= 13)
  for (const { name, type } of columns) {
    const [before] = db.prepare(`select ${name} as value from logs where journal_seq = ?`).all(BROKEN) as {
      value: unknown
    }[]
    const set = db.prepare(`update logs set ${name} = ? where seq = ?`)
    const { seq } = db.prepare('select seq from logs where journal_seq = ?').get(BROKEN) as { seq: number }
    set.run(/int/i.test(type) ? 9_999 : 'other', seq)
    const reports = await verify()
    t.match(reports.find((report) => report.name === NAME)?.issue, { seq: BROKEN }, name)
    set.run(before?.value, seq)
    t.strictSame(await verify(), [{ name: NAME, rows: RECORDS }], 'as it was')
  }
})

t.test('rows of one line verify together: an edit, a loss or a swap among them is found', async (t) => {
  const { directory, db, ingest, verify } = await setUp(t)
  const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: NAME })
  const call = (index: number) =>
    record(`card-${index}`, {
      trace_id: 'call',
      token_seq: index,
      ...(index % 2 === 0 ? { surfaces: 'body\nheader:authorization' } : {}),
      ...(index % 3 === 0 ? { disclosure: 'mask' as const } : {}),
    })
  // More than two batches, of which the borders are inside of lines.
  await journal.append(Array.from({ length: 520 }, (_, index) => call(index)))
  await journal.append([call(1), call(2), call(3)])
  await journal.close()
  await ingest()
  const rows = RECORDS + 523
  t.strictSame(await verify(), [{ name: NAME, rows }])
  const middle = rows - 1
  const before = db.prepare('select * from logs where journal_seq = ?').get(middle) as Record<string, unknown>
  for (const [column, value] of Object.entries(before)) {
    if (column === 'seq') continue
    db.prepare(`update logs set ${column} = ? where seq = ?`).run(
      typeof value === 'number' ? 9_999 : 'other',
      before.seq,
    )
    t.match((await verify()).find(({ name }) => name === NAME)?.issue, { seq: rows - 2 }, column)
    db.prepare(`update logs set ${column} = ? where seq = ?`).run(value, before.seq)
  }
  t.strictSame(await verify(), [{ name: NAME, rows }], 'as it was')
  const altered = async (...statements: string[]) => {
    const kept = db.prepare('select * from logs where journal_seq > ?').all(rows - 3) as object[]
    for (const text of statements) db.exec(text)
    const reports = await verify()
    db.prepare('delete from logs where journal_seq > ?').run(rows - 3)
    for (const row of kept) {
      const names = Object.keys(row)
      db.prepare(`insert into logs (${names}) values (${names.map(() => '?')})`).run(Object.values(row))
    }
    return reports
  }
  const [first, last] = [rows - 2, rows]
  const expected = { name: NAME, rows: rows - 3, issue: { seq: first } }
  for (const seq of [first, middle, last])
    t.match(await altered(`delete from logs where journal_seq = ${seq}`), [expected], `${seq} is missing`)
  t.match(
    await altered(
      `update logs set journal_seq = 9999 where journal_seq = ${first}`,
      `update logs set journal_seq = ${first} where journal_seq = ${last}`,
      `update logs set journal_seq = ${last} where journal_seq = 9999`,
    ),
    [expected],
    'swapped',
  )
  t.match(
    await altered(
      `delete from logs where journal_seq = ${last}`,
      `update journal_positions set seq = ${middle}`,
    ),
    [expected],
    'the last one cut, and the position moved behind it',
  )
  db.exec(
    `update logs set hash = (select hash from logs where journal_seq = ${first}) where journal_seq > 12`,
  )
  t.match(await verify(), [{ rows: RECORDS, issue: { seq: RECORDS + 1 } }], 'all with one hash')
})

t.test('rows that are removed, swapped or added are found', async (t) => {
  const { db, verify, position } = await setUp(t)
  const head = await position()
  const alter = async (...statements: string[]) => {
    db.exec('savepoint altered')
    for (const text of statements) db.exec(text)
    db.exec('release altered')
    return verify()
  }
  const copy = db.prepare('select * from logs').all() as Record<string, unknown>[]
  const restore = () => {
    db.exec('delete from logs; delete from journal_positions')
    const names = Object.keys(copy[0]!)
    const insert = db.prepare(`insert into logs (${names}) values (${names.map(() => '?')})`)
    for (const row of copy) insert.run(Object.values(row))
    db.prepare('insert into journal_positions (journal, seq, hash) values (?, ?, ?)').run(
      NAME,
      head.seq,
      head.hash,
    )
  }
  const issue = (seq: number, reason: RegExp) => [{ name: NAME, rows: seq - 1, issue: { seq, reason } }]
  t.match(await alter(`delete from logs where journal_seq = ${BROKEN}`), issue(BROKEN, /missing/))
  restore()
  t.match(await alter('delete from logs where journal_seq > 9'), issue(10, /end here, but record 12/))
  restore()
  t.match(await alter('delete from logs'), issue(1, /end here/))
  restore()
  t.match(await alter("update journal_positions set hash = 'x'"), issue(RECORDS, /not the known last record/))
  restore()
  t.match(await alter('delete from journal_positions'), [{ issue: { reason: /no position/ } }])
  restore()
  t.match(
    await alter(
      'update logs set journal_seq = 99 where journal_seq = 3',
      'update logs set journal_seq = 3 where journal_seq = 4',
      'update logs set journal_seq = 4 where journal_seq = 99',
    ),
    issue(3, /row was altered/),
  )
  restore()
  t.match(
    await alter(
      `insert into logs (tenant_id, entity_type, entity_id, operation, message, trace_id, created_at, journal, journal_seq, hash)
       select tenant_id, entity_type, entity_id, operation, message, trace_id, created_at, 'another', 1, hash from logs where journal_seq = 1`,
    ),
    [
      { name: 'another', rows: 0, issue: { seq: 1 } },
      { name: NAME, rows: RECORDS },
    ],
  )
})

t.test('rows and position that are cut together are found by an earlier printed head', async (t) => {
  const { db, verify, position } = await setUp(t)
  const head = await position()
  const { hash } = db.prepare('select hash from logs where journal_seq = 9').get() as { hash: string }
  db.exec('delete from logs where journal_seq > 9')
  db.prepare('update journal_positions set seq = 9, hash = ?').run(hash)
  t.strictSame(await verify(), [{ name: NAME, rows: 9 }], 'nothing else shows it')
  t.match(await verify({ heads: [head] }), [{ rows: 9, issue: { seq: 10 } }])
  t.match(await verify({ heads: [{ ...head, seq: 5 }] }), [{ rows: 4, issue: { seq: 5 } }])
  t.match(await verify({ heads: [{ ...head, journal: 'lost' }] }), [
    { name: NAME, rows: 9 },
    { name: 'lost', rows: 0, issue: { seq: 1 } },
  ])
})

t.test('the monitor reports rows that do not verify, and prints the head of each chain', async (t) => {
  const { db, logs, position } = await setUp(t)
  const { log, lines } = recordingLog()
  const registry = new Registry()
  const monitor = createRowMonitor({
    journalMac: () => mac,
    logs,
    log,
    registry,
    clock: { now: () => 5_000 },
  })
  await monitor.verify()
  await monitor.printHeads()
  t.same(lines, [{ level: 'info', members: await position(), text: 'head of the audit chain' }])
  t.equal(monitor.broken, 0)
  t.match(await registry.metrics(), /^sidevault_audit_rows_verified_timestamp_seconds 5$/m)
  db.exec(`update logs set actor_id = 'other' where journal_seq = ${BROKEN}`)
  await monitor.verify()
  t.match(lines[1], { level: 'error', members: { journal: NAME, seq: BROKEN } })
  t.equal(monitor.broken, 1)
  t.match(await registry.metrics(), /^sidevault_audit_rows_broken_journals 1$/m)
})

t.test('rows verify across a loss that an operator acknowledged', async (t) => {
  const { directory, logs, ingest, verify } = await setUp(t)
  await writeJournal(directory, 3)
  const file = join(directory, `${NAME}.000001.jsonl`)
  truncateSync(file, 500)
  await acknowledgeLoss({ mac, logs, clock: { now: () => 2_000 } }, directory, NAME)
  await writeJournal(directory, 2)
  await ingest()
  t.strictSame(await verify(), [{ name: NAME, rows: RECORDS + 3 }])
})
