import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { acknowledgeLoss } from '../../src/audit/acknowledge-loss.ts'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { createRetention, type RetentionLimits } from '../../src/audit/retention.ts'
import { withRetainedFiles } from '../../src/audit/retention-lock.ts'
import { verifyJournals } from '../../src/audit/verify.ts'
import type { LogStore } from '../../src/store/logs/types.ts'
import { linesOf, mac, openLogs, record, recordingLog, type Test } from './kit.ts'

const NAME = 'gateway-1'
const DAY = 86_400_000
const NOW = Date.parse('2100-03-01T12:00:00Z')
const ALL: RetentionLimits = { ageMs: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const NONE: RetentionLimits = { ...ALL, ageMs: 0 }
/** Five records a file. */
const SEGMENT_BYTES = 1_000

const setUp = async (t: Test) => {
  const { directory, logs } = await openLogs(t)
  const { log, lines } = recordingLog()
  const clock = { now: () => NOW }
  let written = 0
  const file = (number: number, name = NAME) => join(directory, `${name}.00000${number}.jsonl`)
  const files = () =>
    readdirSync(directory)
      .filter((each) => each.endsWith('.jsonl'))
      .sort()
  const startIngest = (to: LogStore = logs) => createIngest({ logs: to, mac, log }, { directory })
  const ingest = startIngest()
  const setup = {
    directory,
    logs,
    log,
    lines,
    ingest,
    startIngest,
    file,
    files,
    checkpoint: join(directory, `${NAME}.checkpoint`),
    retention: (keep: RetentionLimits, from = ingest) =>
      createRetention({ mac, ingest: from, clock, log }, { directory, limits: keep }),
    /** As a process does that starts, writes and ends. */
    write: async (count: number, name = NAME) => {
      const options = { directory, name, segmentBytes: SEGMENT_BYTES }
      const journal = await openJournal({ mac, log }, options)
      for (let index = 0; index < count; index++) await journal.append([record(`id-${++written}`)])
      await journal.close()
    },
    /** So many days ago each file was written last. */
    aged: (days: readonly number[], name = NAME) => {
      for (const [index, age] of days.entries())
        utimesSync(file(index + 1, name), (NOW - age * DAY) / 1000, (NOW - age * DAY) / 1000)
    },
    verify: () => verifyJournals({ mac, logs }, directory),
    ids: async () => (await logs.find('tenant-1')).map(({ entity_id }) => entity_id),
    acknowledgeLoss: () => acknowledgeLoss({ mac, logs, clock }, directory, NAME),
  }
  return setup
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `id-${index + 1}`)

/** A journal of four files, all of it ingested, of which the first two were removed. */
const shortened = async (t: Test) => {
  const setup = await setUp(t)
  await setup.write(20)
  await setup.ingest.catchUp()
  setup.aged([9, 8, 1, 0])
  t.equal(await setup.retention({ ...ALL, ageMs: 7 * DAY }).run(), 2)
  return setup
}

t.test('old files whose records are in the store are removed, and the rest is a valid chain', async (t) => {
  const { write, ingest, aged, retention, files, verify, ids, startIngest, logs, directory } = await setUp(t)
  await write(20)
  t.equal(files().length, 4)
  aged([9, 8, 6, 0])
  const week = { ...ALL, ageMs: 7 * DAY }
  t.equal(await retention(week).run(), 0, 'nothing of what the store does not have')
  await ingest.catchUp()
  t.equal(await retention(ALL).run(), 0)
  t.equal(await retention(week).run(), 2)
  t.same(files(), [`${NAME}.000003.jsonl`, `${NAME}.000004.jsonl`])
  const removed = { segment: 2, seq: 10, losses: 0, since: NOW, at: NOW }
  t.match(await verify(), { ok: true, journals: [{ name: NAME, records: 20, removed }] })
  t.match(await verifyJournals({ mac }, directory), { ok: true })

  t.equal(await retention(NONE).run(), 1, 'the newest stays')
  t.equal(await retention(NONE).run(), 0)
  await write(7)
  t.equal(await ingest.catchUp(), 7)
  await write(6)
  t.equal(await startIngest().catchUp(), 6, 'also after a restart')
  t.same(await ids(), numbered(33))
  t.equal((await logs.position(NAME))?.seq, 33)
  t.match(await verify(), { ok: true, journals: [{ records: 33, removed: { seq: 15 } }] })
})

t.test('the oldest files of all journals are removed when all exceed the size limit', async (t) => {
  const { write, ingest, aged, retention, files, directory, verify } = await setUp(t)
  await write(15)
  await write(15, 'admin')
  await ingest.catchUp()
  aged([5, 3, 0])
  aged([4, 2, 1], 'admin')
  const sizes = files().reduce((sum, each) => sum + readFileSync(join(directory, each)).length, 0)
  t.equal(await retention({ ...ALL, bytes: sizes }).run(), 0)
  t.equal(await retention({ ...ALL, bytes: (sizes * 7) / 12 }).run(), 3)
  t.same(files(), ['admin.000002.jsonl', 'admin.000003.jsonl', `${NAME}.000003.jsonl`])
  t.equal(await retention({ ...ALL, bytes: 0 }).run(), 1)
  t.match(await verify(), { ok: true, journals: [{ name: 'admin' }, { name: NAME }] })
})

t.test('files that are being read are not removed', async (t) => {
  const { write, ingest, retention, directory, files } = await setUp(t)
  await write(20)
  await ingest.catchUp()
  await withRetainedFiles(directory, () =>
    withRetainedFiles(directory, async () => {
      t.equal(await retention(NONE).run(), 0)
      t.equal(files().length, 4)
    }),
  )
  t.equal(await retention(NONE).run(), 3)
})

t.test('a file altered after it was ingested is retained, and reported once', async (t) => {
  const alterations: Readonly<Record<string, (text: string) => string>> = {
    edited: (text) => text.replace('"id-7"', '"id-0"'),
    cut: (text) => text.slice(0, text.trimEnd().lastIndexOf('\n') + 1),
  }
  for (const [name, alter] of Object.entries(alterations)) {
    await t.test(name, async (t) => {
      const { write, ingest, retention, file, files, lines } = await setUp(t)
      await write(20)
      await ingest.catchUp()
      writeFileSync(file(2), alter(readFileSync(file(2), 'utf8')))
      const round = retention(NONE)
      t.equal(await round.run(), 1)
      t.equal(await round.run(), 0)
      t.equal(files().length, 3)
      t.equal(round.issues, 1)
      t.equal(lines.filter(({ text }) => /removing no files/.test(text)).length, 1)
    })
  }
})

t.test('files removed, altered or replaced by hand are found', async (t) => {
  type Of = Awaited<ReturnType<typeof shortened>>
  const thefts: Readonly<Record<string, (setup: Of) => Promise<void> | void>> = {
    'another file': ({ file }) => rmSync(file(3)),
    'all files': ({ file }) => {
      rmSync(file(3))
      rmSync(file(4))
    },
    'the checkpoint': ({ checkpoint }) => rmSync(checkpoint),
    'a file, with a checkpoint that says so': ({ file, checkpoint }) => {
      rmSync(file(3))
      const { hash } = linesOf(join(checkpoint, '..')).find(({ seq }) => seq === 16) ?? { hash: '' }
      const text = readFileSync(checkpoint, 'utf8').replace('"segment":2', '"segment":3')
      writeFileSync(
        checkpoint,
        text.replace('"seq":10', '"seq":15').replace(/"hash":"\w+"/, `"hash":"${hash}"`),
      )
    },
    "a file, with another journal's checkpoint": async ({
      write,
      ingest,
      aged,
      retention,
      checkpoint,
      file,
      directory,
    }) => {
      await write(20, 'admin')
      await ingest.catchUp()
      aged([9, 9, 9, 9], 'admin')
      await retention({ ...ALL, ageMs: 7 * DAY }).run()
      copyFileSync(join(directory, 'admin.checkpoint'), checkpoint)
      rmSync(file(3))
    },
    'the checkpoint, restored to an older one': async ({ retention, checkpoint }) => {
      const older = readFileSync(checkpoint)
      utimesSync(join(checkpoint, '..', `${NAME}.000003.jsonl`), 1, 1)
      await retention({ ...ALL, ageMs: 7 * DAY }).run()
      writeFileSync(checkpoint, older)
    },
    'a record, changed': ({ file }) =>
      writeFileSync(file(3), readFileSync(file(3), 'utf8').replace('"id-12"', '"id-0"')),
    'the first retained records, cut': ({ file }) => {
      const text = readFileSync(file(3), 'utf8')
      writeFileSync(file(3), text.slice(text.indexOf('\n') + 1))
    },
  }
  for (const [name, steal] of Object.entries(thefts)) {
    await t.test(name, async (t) => {
      const setup = await shortened(t)
      await steal(setup)
      const { ok, journals } = await setup.verify()
      t.notOk(ok)
      t.ok(journals.find((each) => each.name === NAME)?.issue)
      if (name !== 'a record, changed' && name !== 'all files') {
        const restarted = setup.startIngest()
        await restarted.catchUp()
        const inTail = name === 'the first retained records, cut'
        t.equal(restarted.issues, inTail ? 0 : 1, 'ingest')
        t.equal(await setup.retention(NONE).run(), 0, 'retention')
      }
    })
  }
})

t.test('a removal interrupted at any point leaves a valid chain, and the next one continues', async (t) => {
  const setup = await setUp(t)
  await setup.write(20)
  await setup.ingest.catchUp()
  const before = join(setup.directory, '..', 'before')
  cpSync(setup.directory, before, { recursive: true })
  writeFileSync(`${setup.checkpoint}.fresh`, '{"segment":')
  t.match(await setup.verify(), { ok: true, journals: [{ records: 20 }] })
  t.equal(await setup.retention(NONE).run(), 3)
  t.notOk(existsSync(`${setup.checkpoint}.fresh`))
  for (const number of [1, 2, 3])
    copyFileSync(join(before, `${NAME}.00000${number}.jsonl`), setup.file(number))
  t.match(await setup.verify(), { ok: true, journals: [{ records: 20, removed: { seq: 15 } }] })
  await setup.write(1)
  const restarted = setup.startIngest()
  t.equal(await restarted.catchUp(), 1)
  t.equal(
    await setup.retention(NONE, restarted).run(),
    4,
    'those three, and the one that is no more the newest',
  )
  t.equal(setup.files().length, 1)
})

t.test('a process that had read less of a journal continues where the store is', async (t) => {
  const { write, ingest, startIngest, retention, ids } = await setUp(t)
  const slow = startIngest()
  await write(3)
  await slow.catchUp()
  await write(17)
  await ingest.catchUp()
  t.equal(await retention(NONE).run(), 3)
  await write(2)
  t.equal(await slow.catchUp(), 2)
  t.equal(slow.issues, 0)
  t.same(await ids(), numbered(22))
})

t.test('a removal concurrent with a start that read the store before is not an error', async (t) => {
  const { write, ingest, startIngest, retention, logs, ids } = await setUp(t)
  await write(3)
  await ingest.catchUp()
  let asked = 0
  const starting = startIngest({
    ...logs,
    position: async (name) => {
      const position = await logs.position(name)
      if (asked++ === 0) {
        await write(17)
        await ingest.catchUp()
        await retention(NONE).run()
      }
      return position
    },
  })
  await starting.catchUp()
  t.equal(starting.issues, 0)
  t.same(await ids(), numbered(20))
})

t.test('a store restored to an older state is not mistaken for one with the removed records', async (t) => {
  const setup = await shortened(t)
  const old = { ...setup.logs, position: async () => ({ seq: 4, hash: linesOf(setup.directory)[0]!.hash }) }
  const ingest = setup.startIngest(old)
  t.equal(await ingest.catchUp(), 0)
  t.equal(ingest.issues, 1)
  t.match(await verifyJournals({ mac, logs: old }, setup.directory), {
    journals: [{ issue: { reason: /records up to 10 were removed .* up to 4 only/ } }],
  })
  const deps = { mac, logs: old, clock: { now: () => NOW } }
  t.ok(await acknowledgeLoss(deps, setup.directory, NAME))
  const after = setup.startIngest(old)
  t.equal(await after.catchUp(), 11, 'the retained records, and the record of the loss')
  t.equal(after.issues, 0)
  t.match(await verifyJournals({ mac, logs: old }, setup.directory), { ok: true })
})

t.test('a journal whose checkpoint is lost or forged continues once that is acknowledged', async (t) => {
  for (const text of [undefined, 'forged']) {
    const setup = await shortened(t)
    if (text === undefined) rmSync(setup.checkpoint)
    else writeFileSync(setup.checkpoint, text)
    await t.rejects(setup.write(1), {
      code: 'gateway_timeout',
      message: /acknowledge-loss --journal gateway-1/,
    })
    t.ok(await setup.acknowledgeLoss())
    await setup.write(1)
    const ingest = setup.startIngest()
    t.equal(await ingest.catchUp(), 2)
    t.equal(ingest.issues, 0)
    t.match(await setup.verify(), { ok: true, journals: [{ records: 22, acknowledged: [{ seq: 21 }] }] })
  }
})

t.test('acknowledged losses are still reported when their records are removed', async (t) => {
  const setup = await setUp(t)
  await setup.write(3)
  await setup.ingest.catchUp()
  const text = readFileSync(setup.file(1), 'utf8')
  writeFileSync(setup.file(1), text.replace('"id-3"', '"id-0"'))
  t.ok(await setup.acknowledgeLoss())
  await setup.write(12)
  const ingest = setup.startIngest()
  await ingest.catchUp()
  await setup.retention(NONE, ingest).run()
  t.match(await setup.verify(), { ok: true, journals: [{ removed: { losses: 1 } }] })
})

t.test('records that wait for the store have an age', async (t) => {
  const { write, directory, logs, log } = await setUp(t)
  let now = NOW
  const failing = { ...logs, ingest: async () => Promise.reject(new Error('away')) }
  const clock = { now: () => now }
  const away = createIngest({ logs: failing, mac, log, clock }, { directory })
  t.equal(away.behind(), 0)
  away.start()
  await write(1)
  await t.rejects(away.catchUp())
  now += 90_000
  t.equal(away.behind(), 90_000)
  await away.stop()
})
