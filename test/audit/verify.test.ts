import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { verifyJournals } from '../../src/audit/verify.ts'
import { mac, openLogs, record, recordingLog, type Test, writeJournal } from './kit.ts'

const RECORDS = 12

/** Three files of a journal, all of it ingested, and a way to alter a copy. */
const setUp = async (t: Test) => {
  const { directory, logs } = await openLogs(t)
  await writeJournal(directory, RECORDS, 'gateway-1', 1000)
  await createIngest({ logs, mac, log: recordingLog().log }, { directory }).catchUp()
  const files = readdirSync(directory)
    .filter((file) => file.endsWith('.jsonl'))
    .sort()
  t.equal(files.length, 3)
  const copy = join(directory, '..', 'copy')
  const verify = async (alter: (directory: string) => void, withStore = true) => {
    rmSync(copy, { recursive: true, force: true })
    cpSync(directory, copy, { recursive: true })
    alter(copy)
    return verifyJournals(withStore ? { mac, logs } : { mac }, copy)
  }
  return { directory, logs, files, verify }
}

const editLines = (path: string, edit: (lines: string[]) => string[]) =>
  writeFileSync(path, `${edit(readFileSync(path, 'utf8').trimEnd().split('\n')).join('\n')}\n`)

t.test('an untouched journal verifies, with and without the store, with the records counted', async (t) => {
  const { verify, directory, logs } = await setUp(t)
  const expected = { ok: true, journals: [{ name: 'gateway-1', records: RECORDS }] }
  t.same(await verify(() => {}), expected)
  t.same(await verify(() => {}, false), expected)
  await writeJournal(directory, 2, 'admin')
  t.same(await verifyJournals({ mac, logs }, directory), {
    ok: true,
    journals: [
      { name: 'admin', records: 2 },
      { name: 'gateway-1', records: RECORDS },
    ],
  })
  t.same(await verifyJournals({ mac }, join(directory, 'none')), { ok: true, journals: [] })
})

t.test('every edit of one byte is found, at its line', async (t) => {
  const { directory, files, verify } = await setUp(t)
  const contents = files.map((file) => readFileSync(join(directory, file)))
  const edits = fc.record({ file: fc.nat(2), at: fc.nat(), flip: fc.integer({ min: 1, max: 255 }) })
  await fc.assert(
    fc.asyncProperty(edits, async ({ file, at, flip }) => {
      const content = contents[file]!
      const place = at % content.length
      const report = await verify((copy) => {
        const bytes = Buffer.from(content)
        bytes[place]! ^= flip
        writeFileSync(join(copy, files[file]!), bytes)
      })
      const line = content.subarray(0, place).toString('latin1').split('\n').length
      const issue = report.journals[0]?.issue
      const before = contents
        .slice(0, file)
        .reduce((sum, bytes) => sum + bytes.toString().split('\n').length - 1, 0)
      // A newline more or less moves the place to the neighbouring line.
      const near = issue !== undefined && issue.seq - (before + line) <= 1 && before + line - issue.seq <= 1
      return !report.ok && near && issue.file === files[file]
    }),
    { numRuns: 150 },
  )
  const last = contents[2]!
  for (const flip of [1, 0x2a, 0x80]) {
    const report = await verify((copy) => {
      const bytes = Buffer.from(last)
      bytes[bytes.length - 1]! ^= flip
      writeFileSync(join(copy, files[2]!), bytes)
    }, false)
    t.match(report, { ok: false, journals: [{ issue: { reason: 'the last line is incomplete' } }] })
  }
})

t.test('lines deleted, inserted, repeated or moved are found at the first place', async (t) => {
  const { files, verify } = await setUp(t)
  const middle = files[1]!
  const edits: readonly (readonly [string, (lines: string[]) => string[], number])[] = [
    ['first line deleted', (lines) => lines.slice(1), 1],
    ['line deleted', (lines) => lines.toSpliced(1, 1), 2],
    ['line repeated', (lines) => lines.toSpliced(1, 0, lines[0]!), 2],
    ['lines swapped', (lines) => lines.with(0, lines[1]!).with(1, lines[0]!), 1],
    ['line inserted', (lines) => lines.toSpliced(2, 0, lines[0]!.replace('id-', 'id-9')), 3],
    ['empty line inserted', (lines) => lines.toSpliced(1, 0, ''), 2],
    ['line added', (lines) => [...lines, '{}'], -1],
  ]
  for (const [name, edit, line] of edits) {
    const report = await verify((copy) => editLines(join(copy, middle), edit), false)
    t.equal(report.ok, false, name)
    const issue = report.journals[0]?.issue
    t.equal(issue?.file, middle, name)
    if (line > 0) t.equal(issue?.line, line, name)
  }
})

t.test('a position inside a line is rejected', async (t) => {
  const { directory, logs } = await openLogs(t)
  const { log } = recordingLog()
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1' })
  await journal.append([record('one')])
  await journal.append([1, 2, 3].map((index) => record(`two-${index}`, { trace_id: 'two' })))
  await journal.close()
  t.match(await verifyJournals({ mac, logs }, directory), { ok: true, journals: [{ records: 4 }] })
  await createIngest({ logs, mac, log }, { directory }).catchUp()
  const { hash } = (await logs.position('gateway-1'))!
  for (const seq of [2, 3]) {
    const other = { ...logs, position: async () => ({ seq, hash }) }
    t.match(await verifyJournals({ mac, logs: other }, directory), {
      ok: false,
      journals: [{ records: 1, issue: { line: 2, seq: 2, reason: /not the one that was ingested/ } }],
    })
    const ingest = createIngest({ logs: other, mac, log }, { directory })
    await ingest.catchUp()
    t.equal(ingest.issues, 1)
  }
})

t.test('a line written without the key is found', async (t) => {
  const { directory, files, verify } = await setUp(t)
  const forger = (data: string | Buffer) => mac(Buffer.concat([Buffer.from('forged'), Buffer.from(data)]))
  const forged = join(directory, '..', 'forged')
  const journal = await openJournal(
    { mac: forger, log: recordingLog().log },
    { directory: forged, name: 'gateway-1' },
  )
  await journal.append([record('forged')])
  await journal.close()
  const line = readFileSync(join(forged, files[0]!), 'utf8').trimEnd()
  const report = await verify(
    (copy) => editLines(join(copy, files[0]!), (lines) => lines.with(0, line)),
    false,
  )
  t.match(report, { ok: false, journals: [{ records: 0, issue: { file: files[0], line: 1, seq: 1 } }] })
})

t.test('removed, duplicated, swapped and foreign files are found', async (t) => {
  const { files, verify } = await setUp(t)
  const [first, second, third] = files as [string, string, string]
  const alterations: readonly (readonly [string, (copy: string) => void])[] = [
    ['first', (copy) => rmSync(join(copy, first))],
    ['middle', (copy) => rmSync(join(copy, second))],
    ['last', (copy) => rmSync(join(copy, third))],
    ['all', (copy) => files.map((file) => rmSync(join(copy, file)))],
    ['all, and the lock', (copy) => readdirSync(copy).map((file) => rmSync(join(copy, file)))],
    ['the directory', (copy) => rmSync(copy, { recursive: true })],
    ['doubled', (copy) => cpSync(join(copy, second), join(copy, 'gateway-1.000004.jsonl'))],
    ['emptied', (copy) => writeFileSync(join(copy, second), '')],
    [
      'swapped',
      (copy) => {
        renameSync(join(copy, first), join(copy, 'x'))
        renameSync(join(copy, second), join(copy, first))
        renameSync(join(copy, 'x'), join(copy, second))
      },
    ],
    [
      'under another name',
      (copy) =>
        files.map((file) => renameSync(join(copy, file), join(copy, file.replace('gateway-1', 'admin')))),
    ],
  ]
  for (const [name, alter] of alterations) {
    const report = await verify(alter)
    t.equal(report.ok, false, name)
    t.match(report.journals.find(({ issue }) => issue)?.issue, { file: String, reason: String }, name)
  }
})

t.test('a truncated end is found by what the store has ingested', async (t) => {
  const { directory, logs, files, verify } = await setUp(t)
  const cut = (copy: string) => editLines(join(copy, files[2]!), (lines) => lines.slice(0, -1))
  t.equal((await verify(cut, false)).ok, true, 'nothing in the files shows it')
  t.match(await verify(cut), {
    ok: false,
    journals: [{ records: RECORDS - 1, issue: { file: files[2], seq: RECORDS } }],
  })
  const path = join(directory, files[2]!)
  editLines(path, (lines) => lines.slice(0, -1))
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length
  const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: 'gateway-1' })
  for (let index = 0; index < 5; index++) await journal.append([record(`other-${index}`)])
  await journal.close()
  t.match(await verifyJournals({ mac, logs }, directory), {
    ok: false,
    journals: [
      {
        records: RECORDS - 1,
        issue: {
          file: files[2],
          line: lines + 1,
          seq: RECORDS,
          reason: 'the record is not the one that was ingested',
        },
      },
    ],
  })
})

t.test('a journal can be verified while it is written and ingested', async (t) => {
  const { directory, logs } = await setUp(t)
  const journal = await openJournal(
    { mac, log: recordingLog().log },
    { directory, name: 'gateway-1', segmentBytes: 20_000 },
  )
  const ingest = createIngest({ logs, mac, log: recordingLog().log }, { directory })
  const write = async () => {
    for (let index = 0; index < 20; index++) await journal.append([record('live'), record('live')])
  }
  for (let round = 0; round < 8; round++) {
    const [report] = await Promise.all([verifyJournals({ mac, logs }, directory), write(), ingest.catchUp()])
    if (!report.ok) t.fail(JSON.stringify(report))
  }
  await journal.close()
  t.equal(ingest.issues, 0)
  t.match(await verifyJournals({ mac, logs }, directory), { ok: true })
})
