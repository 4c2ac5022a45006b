import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { acknowledgeLoss, findLoss } from '../../src/audit/acknowledge-loss.ts'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { verifyJournals } from '../../src/audit/verify.ts'
import { idsOf, mac, openLogs, record, recordingLog, type Test, writeJournal } from './kit.ts'

const NAME = 'gateway-1'
const INGESTED = 8
const RECORDS = 12
const NOW = Date.parse('2026-03-01T12:00:00Z')

const alter = (path: string, edit: (text: string) => string) =>
  writeFileSync(path, edit(readFileSync(path, 'utf8')))

/** A journal of three files, of which all but the last records were ingested. */
const setUp = async (t: Test) => {
  const { directory, logs } = await openLogs(t)
  const ingest = async () => {
    const ingest = createIngest({ logs, mac, log: recordingLog().log }, { directory })
    await ingest.catchUp()
    return ingest.issues
  }
  await writeJournal(directory, INGESTED, NAME, 1000)
  await ingest()
  await writeJournal(directory, RECORDS - INGESTED, NAME, 1000)
  const deps = { mac, logs, clock: { now: () => NOW } }
  return {
    directory,
    logs,
    ingest,
    file: (number: number) => join(directory, `${NAME}.00000${number}.jsonl`),
    find: () => findLoss(deps, directory, NAME),
    accept: () => acknowledgeLoss(deps, directory, NAME),
    verify: () => verifyJournals({ mac, logs }, directory),
    ingested: async () => (await logs.find('tenant-1')).map(({ entity_id }) => entity_id),
    /** Opens the journal as a starting process does, and writes one record. */
    goOn: async (id: string) => {
      const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name: NAME })
      await journal.append([record(id)])
      await journal.close()
    },
  }
}

type SetUp = Awaited<ReturnType<typeof setUp>>

const damages: readonly {
  readonly name: string
  readonly damage: (setup: SetUp) => void
  /** Records that hold. */
  readonly retained: number
  /** Sequence number of the record that reports it. */
  readonly reported: number
  readonly aside: readonly number[]
}[] = [
  {
    name: 'the last record',
    damage: ({ file }) => alter(file(3), (text) => text.replace('"id-12"', '"id-13"')),
    retained: 11,
    reported: 12,
    aside: [3],
  },
  {
    name: 'a record in the middle that was not ingested',
    damage: ({ file }) => alter(file(2), (text) => text.replace('"id-10"', '"id-99"')),
    retained: 9,
    reported: 10,
    aside: [2, 3],
  },
  {
    name: 'a record that was ingested long ago',
    damage: ({ file }) => alter(file(1), (text) => text.replace('"id-3"', '"id-99"')),
    retained: 2,
    reported: 9,
    aside: [1, 2, 3],
  },
  { name: 'a file', damage: ({ file }) => rmSync(file(2)), retained: 5, reported: 9, aside: [3] },
  { name: 'the first file', damage: ({ file }) => rmSync(file(1)), retained: 0, reported: 9, aside: [2, 3] },
  {
    name: 'all files',
    damage: ({ file }) => [1, 2, 3].map((number) => rmSync(file(number))),
    retained: 0,
    reported: 9,
    aside: [],
  },
  {
    name: 'an end that was ingested',
    damage: ({ file }) => {
      rmSync(file(3))
      alter(file(2), (text) => text.slice(0, text.indexOf('\n') + 1))
    },
    retained: 6,
    reported: 9,
    aside: [2],
  },
]

for (const { name, damage, retained: kept, reported, aside } of damages)
  t.test(
    `after damage to ${name} the journal continues behind its valid part, and reports the loss`,
    async (t) => {
      const setup = await setUp(t)
      const { directory, verify } = setup
      damage(setup)
      t.equal((await verify()).ok, false)
      const before = new Map(aside.map((number) => [number, readFileSync(setup.file(number))]))
      t.match(await setup.find(), { place: { seq: kept } })

      const files = await setup.accept()
      t.equal(files?.length, aside.length)
      for (const [index, number] of aside.entries()) {
        t.match(
          files?.[index],
          new RegExp(`^${NAME}\\.00000${number}\\.jsonl\\.damaged-20260301T120000000Z$`),
        )
        t.same(readFileSync(join(directory, files![index]!)), before.get(number), 'the evidence is as it was')
      }
      const acknowledged = [{ seq: reported, records: [{ entity_id: NAME, created_at: NOW }] }]
      t.match(await verify(), { ok: true, journals: [{ name: NAME, records: reported, acknowledged }] })
      t.equal(await setup.find(), undefined)

      await setup.goOn('after')
      t.match(await verify(), { ok: true, journals: [{ records: reported + 1, acknowledged }] })
      t.strictSame(idsOf(directory), [
        ...Array.from({ length: kept }, (_, index) => `id-${index + 1}`),
        NAME,
        'after',
      ])
      t.equal(await setup.ingest(), 0)
      const known = Array.from({ length: Math.max(kept, INGESTED) }, (_, index) => `id-${index + 1}`)
      t.strictSame(await setup.ingested(), [...known, 'after'])
      t.match(await setup.logs.find(''), [
        { entity_type: 'journal', entity_id: NAME, operation: 'acknowledge_loss' },
      ])
    },
  )

t.test('nothing is changed when nothing is lost, even with half a line at the end', async (t) => {
  const setup = await setUp(t)
  t.equal(await setup.accept(), undefined)
  alter(setup.file(3), (text) => `${text}{"seq":13,"rec`)
  t.equal(await setup.find(), undefined)
  t.equal(await setup.accept(), undefined)
  await setup.goOn('after')
  t.same(await setup.verify(), { ok: true, journals: [{ name: NAME, records: RECORDS + 1 }] })
})

t.test('a journal in use is left alone', async (t) => {
  const setup = await setUp(t)
  const journal = await openJournal(
    { mac, log: recordingLog().log },
    { directory: setup.directory, name: NAME },
  )
  t.teardown(() => journal.close())
  truncateSync(setup.file(1), 10)
  await t.rejects(setup.accept(), { code: 'gateway_timeout' })
})

t.test("a loss is acknowledged with the service's key only, and once for each place", async (t) => {
  const setup = await setUp(t)
  const copy = join(setup.directory, '..', 'copy')
  alter(setup.file(3), (text) => text.replace('"id-12"', '"id-13"'))
  await setup.accept()
  const [, line] = readFileSync(setup.file(3), 'utf8').trimEnd().split('\n')
  const changed = async (edit: (text: string) => string) => {
    cpSync(setup.directory, copy, { recursive: true })
    alter(join(copy, `${NAME}.000003.jsonl`), edit)
    return (await verifyJournals({ mac, logs: setup.logs }, copy)).ok
  }
  t.equal(await changed((text) => text), true)
  t.equal(await changed((text) => text.replace('"seq":12', '"seq":15')), false, 'its number is part of it')
  t.equal(await changed((text) => text.slice(text.indexOf('\n') + 1)), false, 'no more is lost than it says')
  t.equal(await changed((text) => `${text}${line}\n`), false, 'it cannot be repeated')
  const left = readdirSync(setup.directory).filter((file) => file.endsWith('.acknowledging'))
  t.strictSame(left, [])
})
