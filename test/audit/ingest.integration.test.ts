import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { verifyJournals } from '../../src/audit/verify.ts'
import type { LogStore } from '../../src/store/logs/types.ts'
import {
  acknowledgedAtLeast,
  idsOf,
  killed,
  linesOf,
  mac,
  openLogs,
  record,
  recordingLog,
  rowsIn,
  type Test,
  writeJournal,
  writer,
} from './kit.ts'

const FILE = 'gateway-1.000001.jsonl'

const setUp = async (t: Test) => {
  const { directory, logs } = await openLogs(t)
  const { log, lines } = recordingLog()
  const start = (to: LogStore = logs) => createIngest({ logs: to, mac, log }, { directory })
  const ids = async () => (await logs.find('tenant-1')).map((row) => row.entity_id)
  return { directory, logs, log, errors: lines, start, ids, ingest: start() }
}

const numbered = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `id-${from + index}`)

t.test('every record of every journal becomes one row, as it was written', async (t) => {
  const { directory, logs, ingest } = await setUp(t)
  await writeJournal(directory, 3, 'gateway-1')
  await writeJournal(directory, 2, 'admin')
  t.equal(await ingest.catchUp(), 5)
  t.equal(await ingest.catchUp(), 0)
  const lines = linesOf(directory, 'gateway-1')
  const rows = (await logs.find('tenant-1')).filter((row) => row.journal === 'gateway-1')
  t.same(rows, rowsIn(directory))
  t.same(await logs.position('gateway-1'), { seq: 3, hash: lines[2]!.hash })
  t.same(await logs.position('admin'), { seq: 2, hash: linesOf(directory, 'admin')[1]!.hash })
  t.equal(ingest.issues, 0)
})

t.test(
  'ingest continues exactly after the last row on restart, in any file and beyond one batch',
  async (t) => {
    const { directory, start, ids } = await setUp(t)
    let total = 0
    for (const count of [1, 700, 3, 1200]) {
      await writeJournal(directory, count, 'gateway-1', 40_000)
      total += count
      t.equal(await start().catchUp(), count)
      t.equal(await start().catchUp(), 0)
      t.same(await ids(), numbered(total))
    }
  },
)

t.test('a round ingests what existed when it began, not what is written during it', async (t) => {
  const { directory, logs, log, start, ids } = await setUp(t)
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1' })
  t.teardown(() => journal.close())
  await journal.append([record('id-1')])
  let rounds = 0
  const ingest = start({
    ...logs,
    ingest: async (rows) => {
      rounds++
      await logs.ingest(rows)
      await journal.append([record(`id-${rounds + 1}`)])
    },
  })
  t.equal(await ingest.catchUp(), 1)
  t.equal(rounds, 1)
  t.equal(await ingest.catchUp(), 1)
  t.same(await ids(), numbered(2))
})

t.test('concurrent rounds, and one killed before it stored its position, ingest nothing twice', async (t) => {
  const { directory, logs, start, ids } = await setUp(t)
  await writeJournal(directory, 1200)
  await Promise.all([start().catchUp(), start().catchUp(), start().catchUp()])
  t.same(await ids(), numbered(1200))
  const forgetful = start({ ...logs, position: async () => undefined })
  t.equal(await forgetful.catchUp(), 1200)
  t.same(await ids(), numbered(1200))
})

t.test('no record is lost when the store fails: the same records are ingested again', async (t) => {
  const { directory, logs, start, ids } = await setUp(t)
  await writeJournal(directory, 1200)
  let calls = 0
  const failing = start({
    ...logs,
    position: (journal) => logs.position(journal),
    ingest: async (rows) => {
      if (++calls === 2) throw new Error('no reply')
      await logs.ingest(rows)
    },
  })
  await t.rejects(failing.catchUp(), { message: 'no reply' })
  const before = (await ids()).length
  t.ok(before > 0 && before < 1200, 'records before the failure are stored')
  t.equal(await failing.catchUp(), 1200 - before)
  t.same(await ids(), numbered(1200))
  t.equal(failing.issues, 0)
})

t.test('records before an unreadable file become rows', async (t) => {
  const { directory, ingest, ids } = await setUp(t)
  await writeJournal(directory, 3)
  mkdirSync(join(directory, 'gateway-1.000002.jsonl'))
  await t.rejects(ingest.catchUp(), { code: 'EISDIR' })
  t.same(await ids(), numbered(3))
})

t.test('records of a group of reads become one write, each found at its line', async (t) => {
  const { directory, logs, log, errors, start, ids } = await setUp(t)
  await writeJournal(directory, 900)
  const groups: number[] = []
  const counted = start({
    ...logs,
    ingest: (rows) => {
      groups.push(rows.length)
      return logs.ingest(rows)
    },
  })
  const copy = join(directory, '..', 'copy')
  cpSync(directory, copy, { recursive: true })
  t.equal(await counted.catchUp(), 900)
  t.same(groups, [900])
  const other = await openJournal({ mac, log }, { directory: copy, name: 'gateway-1' })
  await other.append([record('other-901')])
  await other.close()
  await writeJournal(directory, 1)
  await start().catchUp()
  const second = createIngest(
    { logs: { ...logs, position: async () => undefined }, mac, log },
    { directory: copy },
  )
  await second.catchUp()
  t.match(errors.at(-1), { level: 'error', members: { file: FILE, line: 901, seq: 901 } })
  t.same(await ids(), numbered(901))
})

t.test('catchUp covers what was appended before the call, also while another round runs', async (t) => {
  const { directory, log, ingest, ids } = await setUp(t)
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1', segmentBytes: 1_300 })
  t.teardown(() => journal.close())
  for (let index = 1; index <= 30; index++) {
    await journal.append([record(`id-${index}`)])
    const earlier = index % 3 === 0 ? ingest.catchUp() : undefined
    await ingest.catchUp()
    await earlier
    t.equal((await ids()).length, index)
  }
})

t.test(
  'of a journal that two machines continued, the second is rejected, and no record is skipped',
  async (t) => {
    const { directory, logs, log, errors, start, ids } = await setUp(t)
    await writeJournal(directory, 3)
    const copy = join(directory, '..', 'copy')
    cpSync(directory, copy, { recursive: true })
    const brokenJournals: string[] = []
    const second = createIngest(
      { logs, mac, log },
      { directory: copy, onBroken: (journal) => brokenJournals.push(journal) },
    )
    t.equal(await second.catchUp(), 3)
    const other = await openJournal({ mac, log }, { directory: copy, name: 'gateway-1' })
    await other.append([record('other-4'), record('other-5')])
    await other.close()
    await writeJournal(directory, 1)
    t.equal(await start().catchUp(), 1)
    const position = await logs.position('gateway-1')
    await second.catchUp()
    t.equal(second.issues, 1)
    t.same(brokenJournals, ['gateway-1'])
    t.match(errors, [{ level: 'error', members: { file: FILE, line: 4, seq: 4, reason: /another record/ } }])
    t.same(await ids(), numbered(4), 'nothing that cannot be distinguished')
    t.same(await logs.position('gateway-1'), position)
    const restarted = createIngest({ logs, mac, log }, { directory: copy })
    await restarted.catchUp()
    t.equal(restarted.issues, 1)
  },
)

t.test('a writer of a journal is stopped when the store has other records of it', async (t) => {
  const { directory, logs, log, errors, start } = await setUp(t)
  await writeJournal(directory, 3)
  const copy = join(directory, '..', 'copy')
  cpSync(directory, copy, { recursive: true })
  const here = createIngest({ logs, mac, log }, { directory: copy })
  await here.catchUp()
  const options = { directory: copy, name: 'gateway-1', segmentBytes: 1_300 }
  const writing = await openJournal({ mac, log }, options)
  t.teardown(() => writing.close())
  await writeJournal(directory, 1)
  await start().catchUp()
  await writing.append([record('other-4')])
  await writing.health()
  await here.catchUp()
  await t.rejects(writing.append([record('other-5')]), { code: 'gateway_timeout' })
  await t.rejects(writing.health(), { code: 'gateway_timeout' })
  t.equal(idsOf(copy).at(-1), 'other-4')

  t.match(errors.at(-1), { members: { journal: 'gateway-1' }, text: /cannot be written/ })

  const next = join(copy, 'gateway-1.000002.jsonl')
  writeFileSync(next, '')
  await here.catchUp()
  t.equal(statSync(next).mode & 0o777, 0o400, 'also a file that it began since')
})

t.test('a journal that rotates while another process ingests it is not reported as broken', async (t) => {
  const { directory, logs, log, start, ids } = await setUp(t)
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1', segmentBytes: 1_300 })
  t.teardown(() => journal.close())
  let written = 0
  const write = async () => {
    for (let index = 0; index < 10; index++) await journal.append([record(`id-${++written}`)])
  }
  await write()
  const other = start()
  const late = start({
    ...logs,
    position: async (name) => {
      await write()
      await other.catchUp()
      return logs.position(name)
    },
  })
  await late.catchUp()
  t.equal(late.issues, 0)
  await write()
  await late.catchUp()
  t.equal(late.issues, 0)
  t.same(await ids(), numbered(written))
})

t.test('a record with U+0000 becomes a row, and the chain continues after it', async (t) => {
  const { directory, logs, log, ingest } = await setUp(t)
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1' })
  await journal.append([record('a\0b', { message: 'Card\0 read' }), record('id-2')])
  await journal.close()
  t.equal(await ingest.catchUp(), 2)
  t.match(await logs.find('tenant-1'), [
    { entity_id: 'a\ufffdb', message: 'Card\ufffd read' },
    { entity_id: 'id-2' },
  ])
  t.equal((await verifyJournals({ mac, logs }, directory)).ok, true)
})

t.test('an unfinished line is left for the next round', async (t) => {
  const { directory, ingest, ids } = await setUp(t)
  await writeJournal(directory, 3)
  const path = join(directory, FILE)
  const text = readFileSync(path)
  const line = text.indexOf(10) + 1
  const pieces: readonly (readonly [number, number])[] = [
    [0, 0],
    [10, 0],
    [line - 1, 0],
    [line, 1],
    [2 * line + 20, 1],
    [text.length - 1, 0],
    [text.length, 1],
  ]
  writeFileSync(path, '')
  let written = 0
  for (const [end, records] of pieces) {
    appendFileSync(path, text.subarray(written, end))
    written = end
    t.equal(await ingest.catchUp(), records)
  }
  t.same(await ids(), numbered(3))
  t.equal(ingest.issues, 0)
})

t.test('forged, edited and reordered lines are never ingested', async (t) => {
  const forgeries: Readonly<Record<string, (lines: string[]) => string[]>> = {
    edited: (lines) => lines.with(3, lines[3]!.replace('"read"', '"use"')),
    deleted: (lines) => lines.toSpliced(3, 1),
    swapped: (lines) => lines.with(3, lines[4]!).with(4, lines[3]!),
    doubled: (lines) => lines.toSpliced(3, 0, lines[2]!),
    forged: (lines) => lines.toSpliced(3, 0, `{"seq":4,"record":{},"hash":"${mac('x')}"}`),
    nonsense: (lines) => lines.with(3, 'nonsense'),
    empty: (lines) => lines.with(3, ''),
  }
  for (const [name, forge] of Object.entries(forgeries)) {
    await t.test(name, async (t) => {
      const { directory, errors, start, ids } = await setUp(t)
      await writeJournal(directory, 6)
      await writeJournal(directory, 2, 'admin')
      const path = join(directory, FILE)
      writeFileSync(path, `${forge(readFileSync(path, 'utf8').trimEnd().split('\n')).join('\n')}\n`)
      const ingest = start()
      await ingest.catchUp()
      await ingest.catchUp()
      t.same(
        (await ids()).sort(),
        ['id-1', 'id-1', 'id-2', 'id-2', 'id-3'],
        'up to the altered line; other journals complete',
      )
      t.equal(ingest.issues, 1)
      t.match(errors, [{ level: 'error', members: { journal: 'gateway-1', file: FILE, line: 4, seq: 4 } }])
      const again = start()
      t.equal(await again.catchUp(), 0, 'nor after a restart')
      t.equal(again.issues, 1)
    })
  }
})

t.test('a journal that lost ingested records is rejected, while running and after a restart', async (t) => {
  const losses: Readonly<Record<string, (directory: string) => Promise<void> | void>> = {
    'cut at the end': (directory) => {
      const path = join(directory, FILE)
      const lines = readFileSync(path, 'utf8').split('\n')
      truncateSync(path, lines.slice(0, 4).join('\n').length + 1)
    },
    'cut, then continued': async (directory) => {
      const path = join(directory, FILE)
      const lines = readFileSync(path, 'utf8').split('\n')
      truncateSync(path, lines.slice(0, 4).join('\n').length + 1)
      const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: 'gateway-1' })
      for (let index = 0; index < 9; index++) await journal.append([record(`other-${index}`)])
      await journal.close()
    },
    removed: (directory) => rmSync(join(directory, FILE)),
    'removed, then started again': async (directory) => {
      rmSync(join(directory, FILE))
      const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: 'gateway-1' })
      for (let index = 0; index < 9; index++) await journal.append([record(`other-${index}`)])
      await journal.close()
    },
    'first file missing': (directory) =>
      renameSync(join(directory, FILE), join(directory, 'gateway-1.000002.jsonl')),
  }
  for (const [name, lose] of Object.entries(losses)) {
    await t.test(name, async (t) => {
      const { directory, start, ids } = await setUp(t)
      await writeJournal(directory, 6)
      const running = start()
      t.equal(await running.catchUp(), 6)
      await lose(directory)
      const restarted = start()
      await restarted.catchUp()
      await running.catchUp()
      t.equal(running.issues, 1, 'running')
      if (name !== 'removed') t.equal(restarted.issues, 1, 'restarted')
      t.same(await ids(), numbered(6))
    })
  }
})

t.test('records that a killed process acknowledged are ingested', async (t) => {
  const { directory, ingest, ids } = await setUp(t)
  const child = writer(directory)
  ingest.start()
  await acknowledgedAtLeast(child, 300)
  await killed(child)
  await ingest.stop()
  await ingest.catchUp()
  const rows = new Set(await ids())
  t.same(
    child.acknowledged().filter((id) => !rows.has(id)),
    [],
  )
  t.equal(ingest.issues, 0)
})

t.test('a started ingest runs by itself until stopped', async (t) => {
  const { directory, logs, log, start } = await setUp(t)
  let arrived = () => {}
  const arrival = () =>
    new Promise<void>((resolve) => {
      arrived = resolve
    })
  const ingest = start({
    ...logs,
    ingest: async (rows) => {
      await logs.ingest(rows)
      arrived()
    },
  })
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1' })
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  ingest.start()
  ingest.start()
  for (let round = 0; round < 3; round++) {
    const next = arrival()
    await journal.append([record(`id-${round}`)])
    await next
  }
  await ingest.stop()
  await journal.append([record('after')])
  await journal.close()
  await ingest.stop()
  t.equal((await logs.find('tenant-1', 'after')).length, 0)
  t.equal(await ingest.catchUp(), 1)
})

t.test('an unavailable store is not logged on each round', async (t) => {
  const { directory, errors, logs, start } = await setUp(t)
  await writeJournal(directory, 1)
  const { promise: often, resolve } = Promise.withResolvers<void>()
  let calls = 0
  const ingest = start({
    ...logs,
    ingest: async () => {
      if (++calls === 4) resolve()
      throw new Error('away')
    },
  })
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  ingest.start()
  await often
  await ingest.stop()
  t.ok(errors.length > 0 && errors.length < calls, `${errors.length} lines, ${calls} rounds`)
})

t.test('without a directory there is nothing to ingest', async (t) => {
  const { directory, logs, log } = await setUp(t)
  const ingest = createIngest({ logs, mac, log }, { directory: join(directory, 'none') })
  t.equal(await ingest.catchUp(), 0)
})
