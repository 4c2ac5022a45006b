import { once } from 'node:events'
import fs, {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { openJournal } from '../../src/audit/journal.ts'
import { MAX_LINE_LENGTH } from '../../src/audit/line.ts'
import { verifyJournals } from '../../src/audit/verify.ts'
import { problemOf } from '../kit/problem.ts'
import {
  acknowledgedAtLeast,
  idsOf,
  killed,
  linesOf,
  mac,
  record,
  recordingLog,
  writeJournal,
  writer,
} from './kit.ts'

const FILE = 'gateway-1.000001.jsonl'

const open = (directory: string, more: { sync?: boolean; segmentBytes?: number; name?: string } = {}) =>
  openJournal({ mac, log: recordingLog().log }, { directory, name: 'gateway-1', ...more })

t.test('each line carries the hash of the one before, in files for the owner only', async (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = await open(directory)
  await journal.append([record('one'), record('two')])
  await journal.append([record('three')])
  await journal.close()
  t.equal(statSync(directory).mode & 0o777, 0o700)
  for (const file of readdirSync(directory))
    t.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file)
  const lines = readFileSync(join(directory, FILE), 'utf8').split('\n')
  t.equal(lines.pop(), '')
  let previous = mac('sidevault journal gateway-1')
  for (const [index, line] of lines.entries()) {
    const [body, hash] = line.split(',"hash":"') as [string, string]
    previous = mac(previous + body)
    t.equal(hash, `${previous}"}`)
    t.equal(JSON.parse(line).seq, index + 1)
  }
  t.same(linesOf(directory)[1]?.records, [record('two')])
})

t.test('concurrent appends keep their order and share one write per turn of the event loop', async (t) => {
  const directory = t.testdir()
  const journal = await open(directory)
  const { writeSync } = fs
  let writes = 0
  fs.writeSync = ((...args: Parameters<typeof writeSync>) => {
    writes++
    return writeSync(...args)
  }) as typeof writeSync
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.writeSync = writeSync
    syncBuiltinESMExports()
  })
  const order: string[] = []
  const append = (id: string) => journal.append([record(id), record(`${id}+`)]).then(() => order.push(id))
  const ids = Array.from({ length: 100 }, (_, index) => `id-${index}`)
  await Promise.all(ids.map(append))
  t.equal(writes, 1)
  t.same(order, ids)
  t.same(
    idsOf(directory),
    ids.flatMap((id) => [id, `${id}+`]),
  )
  await append('later')
  t.equal(writes, 2)
  await journal.append([])
  t.equal(writes, 2, 'nothing to write is no write')
  await journal.close()
})

t.test('the records of a large call are written over several turns, in order', async (t) => {
  const directory = t.testdir()
  const journal = await open(directory)
  const names = Array.from({ length: 2_000 }, (_, i) => `r${i}`)
  const done = journal.append(names.map((name) => record(name)))
  const lines = () => readFileSync(join(directory, FILE), 'utf8').split('\n').length - 1
  let most = 0
  for (let before = 0; before < names.length; ) {
    await turn()
    most = Math.max(most, lines() - before)
    before = lines()
  }
  await done
  t.equal(most, 500)
  await journal.close()
  t.same(idsOf(directory), names)
})

t.test('a journal continues where it ended, across files too', async (t) => {
  const directory = t.testdir()
  for (let run = 0; run < 5; run++) await writeJournal(directory, 7, 'gateway-1', 1000)
  const files = readdirSync(directory).filter((file) => file.endsWith('.jsonl'))
  t.ok(files.length > 5, 'several files')
  for (const file of files) t.ok(statSync(join(directory, file)).size <= 1000)
  t.same(
    linesOf(directory).map(({ seq }) => seq),
    Array.from({ length: 35 }, (_, index) => index + 1),
  )
  t.same(await verifyJournals({ mac }, directory), {
    ok: true,
    journals: [{ name: 'gateway-1', records: 35 }],
  })
})

t.test('a crash after a new file is created, before its first line, is not an error', async (t) => {
  const directory = t.testdir()
  await writeJournal(directory, 3)
  writeFileSync(join(directory, 'gateway-1.000002.jsonl'), '', { mode: 0o600 })
  await writeJournal(directory, 2)
  t.match(await verifyJournals({ mac }, directory), { ok: true, journals: [{ records: 5 }] })
})

t.test('only the members of a record are written, with messages cut to 250 characters', async (t) => {
  const directory = t.testdir()
  const journal = await open(directory)
  const extra = { ...record('one', { message: `${'m'.repeat(249)}💳` }), data: 'marked', key: 'marked' }
  await journal.append([extra])
  await journal.append([record('two', { message: 'x'.repeat(1000) })])
  await journal.close()
  const [first, second] = linesOf(directory).map(({ records }) => records[0]!)
  t.same(Object.keys(first!).sort(), Object.keys(record('one')).sort())
  t.equal(first!.message, 'm'.repeat(249), 'no half of a character')
  t.equal(second!.message.length, 250)
})

t.test(
  'records of one call share a line, at most a hundred, also across two appends in a turn',
  async (t) => {
    const directory = t.testdir()
    const journal = await open(directory)
    const ofCall = (call: string, count: number, more = {}) =>
      Array.from({ length: count }, (_, index) => record(`${call}-${index}`, { trace_id: call, ...more }))
    const appends = [
      ofCall('a', 1, { entity_type: 'proxy', created_at: 999 }),
      ofCall('a', 2, { token_seq: 7 }),
      ofCall('b', 1),
      ofCall('b', 1, { actor_id: 'other' }),
      ofCall('b', 1, { actor_id: null }),
      ofCall('b', 1, { tenant_id: 'tenant-2' }),
      ofCall('c', 250),
      ofCall('d', 40, { entity_id: 'ü'.repeat(400) }),
    ]
    await Promise.all(appends.map((records) => journal.append(records)))
    await journal.append(ofCall('d', 1))
    await journal.close()
    const lines = linesOf(directory)
    t.same(
      lines.slice(0, 8).map(({ records }) => records.length),
      [3, 1, 1, 1, 1, 100, 100, 50],
    )
    t.same(
      lines.slice(0, 8).map(({ seq }) => seq),
      [3, 4, 5, 6, 7, 107, 207, 257],
    )
    t.same(
      lines.flatMap(({ records }) => records),
      [...appends.flat(), ...ofCall('d', 1)],
    )
    for (const line of readFileSync(join(directory, FILE), 'utf8').split('\n'))
      t.ok(Buffer.byteLength(line) < MAX_LINE_LENGTH)
    t.match(await verifyJournals({ mac }, directory), { ok: true, journals: [{ records: 298 }] })
  },
)

t.test('a record that is too long fails alone', async (t) => {
  const directory = t.testdir()
  const journal = await open(directory)
  const outcomes = await Promise.allSettled([
    journal.append([record('one')]),
    journal.append([record('bad-1'), record('bad-2', { entity_id: 'x'.repeat(20_000) })]),
    journal.append([record('two')]),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await journal.health()
  await journal.close()
  t.same(idsOf(directory), ['one', 'two'])
  t.ok((await verifyJournals({ mac }, directory)).ok)
})

t.test('an incomplete last line is truncated with a warning, complete lines never', async (t) => {
  const directory = t.testdir()
  await writeJournal(directory, 3)
  const path = join(directory, FILE)
  const complete = readFileSync(path)
  const halves = [
    complete.subarray(0, 50),
    Buffer.from('x'),
    Buffer.alloc(1_000_000),
    Buffer.alloc(90_000, ' '),
  ]
  for (const half of halves) {
    appendFileSync(path, half)
    const { log, lines } = recordingLog()
    const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1' })
    t.match(lines, [{ level: 'warn', members: { journal: 'gateway-1', file: FILE, bytes: half.length } }])
    await journal.close()
    t.same(readFileSync(path), complete)
  }
  writeFileSync(path, complete.subarray(0, 100))
  await writeJournal(directory, 2)
  t.same(idsOf(directory).length, 2, 'a first line too')
  t.ok((await verifyJournals({ mac }, directory)).ok)
})

t.test('a journal whose last record was altered is not continued', async (t) => {
  const directory = t.testdir()
  await writeJournal(directory, 3)
  const path = join(directory, FILE)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace('"id-3"', '"id-4"'))
  t.match(await problemOf(open(directory)), /^gateway_timeout: The last record of the audit journal's file/)
  writeFileSync(path, text)
  await (await open(directory)).close()
  const other = await problemOf(
    openJournal(
      { mac: (data) => mac(`other ${data}`), log: recordingLog().log },
      { directory, name: 'gateway-1' },
    ),
  )
  t.match(other, /^gateway_timeout/, 'nor with another key')
})

t.test('a journal name has one live writer; kill -9 frees it', async (t) => {
  const directory = t.testdir()
  const child = writer(directory, { count: 1 })
  await acknowledgedAtLeast(child, 1)
  t.match(
    await problemOf(open(directory)),
    /^gateway_timeout: Another live process writes the audit journal "gateway-1"/,
  )
  await (await open(directory, { name: 'gateway-2' })).close()
  await killed(child)
  const journal = await open(directory)
  t.match(
    await problemOf(open(directory)),
    /^gateway_timeout: Another live process/,
    'nor twice in one process',
  )
  const second = writer(directory, { count: 1 })
  await once(second, 'close')
  t.match(second.acknowledged(), [/^failed gateway_timeout Another live process/])
  await journal.append([record('mine')])
  await journal.close()
  t.equal(idsOf(directory).at(-1), 'mine')
  await (await open(directory)).close()
})

t.test('acknowledged records survive kill -9, and the chain continues', async (t) => {
  const directory = t.testdir()
  for (const sync of [false, true, false]) {
    const child = writer(directory, { sync })
    await acknowledgedAtLeast(child, 100)
    await killed(child)
    const acknowledged = child.acknowledged()
    t.ok(acknowledged.length >= 100)
    const written = new Set(idsOf(directory))
    t.same(
      acknowledged.filter((id) => !written.has(id)),
      [],
    )
  }
  await writeJournal(directory, 1)
  t.ok((await verifyJournals({ mac }, directory)).ok)
})

t.test('a full disk fails closed, and leaves complete lines only', async (t) => {
  const directory = t.testdir()
  // Blocks of 512 or 1024 bytes, by shell; not a multiple of a line.
  const child = writer(directory, { shell: 'ulimit -f 21;' })
  await once(child, 'close')
  const lines = child.acknowledged()
  t.match(
    lines.at(-1),
    /^failed gateway_timeout The audit journal "gateway-1" cannot be written, so nothing is disclosed/,
  )
  t.ok(lines.length > 20)
  t.same(idsOf(directory), lines.slice(0, -1))
  t.equal(readFileSync(join(directory, FILE)).at(-1), 10, 'half a line was cut off at once')
  await writeJournal(directory, 1)
  t.match(await verifyJournals({ mac }, directory), { ok: true, journals: [{ records: lines.length }] })
})

t.test('a journal stays closed while it cannot be written, and reopens by itself when it can', async (t) => {
  const directory = t.testdir()
  const { log, lines } = recordingLog()
  const journal = await openJournal({ mac, log }, { directory, name: 'gateway-1', segmentBytes: 1000 })
  await journal.append([record('one'), record('two')])
  await journal.health()
  const obstacle = join(directory, 'gateway-1.000002.jsonl')
  mkdirSync(obstacle)
  const failures = await Promise.all(
    ['a', 'b'].map((id) => problemOf(journal.append([record(id), record(`${id}+`)]))),
  )
  for (const failure of failures) t.match(failure, /^gateway_timeout: .*nothing is disclosed/)
  t.match(await problemOf(journal.health()), /^gateway_timeout/)
  t.match(await problemOf(journal.append([record('c'), record('c+')])), /^gateway_timeout/)
  t.equal(lines.length, 1, 'logged once')
  rmdirSync(obstacle)
  await journal.health()
  await journal.append([record('three')])
  await journal.close()
  t.same(idsOf(directory), ['one', 'two', 'three'])
  t.ok((await verifyJournals({ mac }, directory)).ok)
})

t.test('a file that is cut, extended or removed externally stops disclosure until a restart', async (t) => {
  const damages: Readonly<Record<string, (path: string) => void>> = {
    cut: (path) => truncateSync(path, statSync(path).size - 10),
    extended: (path) => appendFileSync(path, 'x'),
    removed: (path) => rmSync(path),
  }
  for (const [name, damage] of Object.entries(damages)) {
    const directory = join(t.testdir(), name)
    const journal = await open(directory)
    await journal.append([record('one'), record('two')])
    damage(join(directory, FILE))
    t.match(await problemOf(journal.append([record('three')])), /^gateway_timeout: .*changed or removed/)
    t.match(await problemOf(journal.health()), /^gateway_timeout/)
    t.match(await problemOf(journal.append([record('four')])), /^gateway_timeout/)
    await journal.close()
    const idle = join(t.testdir(), `${name}-idle`)
    const other = await open(idle)
    await other.append([record('one'), record('two')])
    damage(join(idle, FILE))
    t.match(await problemOf(other.health()), /changed or removed/, 'health sees it without traffic')
    await other.close()
  }
})

t.test('opening fails where no journal can be created', async (t) => {
  const directory = t.testdir({ file: 'x' })
  t.match(await problemOf(open(join(directory, 'file', 'audit'))), /^gateway_timeout: .*cannot be written/)
  t.match(await problemOf(open(directory, { name: '../up' })), /^invalid/)
  t.match(await problemOf(open(directory, { name: 'a.000001.jsonl' })), /^invalid/)
})

t.test('closing writes pending records; then nothing is acknowledged', async (t) => {
  for (const sync of [false, true]) {
    const directory = join(t.testdir(), String(sync))
    const journal = await open(directory, { sync, segmentBytes: 1000 })
    const appends = Array.from({ length: 20 }, (_, index) => journal.append([record(`id-${index}`)]))
    await Promise.all([journal.close(), ...appends])
    t.equal(idsOf(directory).length, 20)
    t.match(await problemOf(journal.append([record('late')])), /^gateway_timeout/)
    t.match(await problemOf(journal.health()), /^gateway_timeout/)
    await journal.close()
  }
})

const linux = process.platform === 'linux'

t.test(
  'with `sync`, files that were rotated are synced and closed too',
  { skip: !linux && 'needs /proc' },
  async (t) => {
    const directory = t.testdir()
    const before = readdirSync('/proc/self/fd').length
    const journal = await open(directory, { sync: true, segmentBytes: 1000 })
    for (let round = 0; round < 20; round++)
      await Promise.all([journal.append([record('a')]), journal.append([record('b')])])
    t.ok(readdirSync(directory).length > 10)
    await journal.close()
    t.equal(readdirSync('/proc/self/fd').length, before, 'no descriptor is left')
    t.equal(idsOf(directory).length, 40)
  },
)
