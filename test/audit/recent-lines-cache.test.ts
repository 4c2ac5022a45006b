import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import { createRecentLinesCache } from '../../src/audit/recent-lines-cache.ts'
import type { LogRow, LogStore } from '../../src/store/logs/types.ts'
import { mac as digest, openLogs, record, recordingLog, rowsIn, type Test } from './kit.ts'

const NAME = 'admin'

/** A journal and the ingest of the same process, and how many digests they have made. */
const setUp = async (t: Test) => {
  const { directory, logs } = await openLogs(t)
  const { log, lines: errors } = recordingLog()
  let digests = 0
  const mac = (data: string | Buffer): string => {
    digests++
    return digest(data)
  }
  const own = createRecentLinesCache()
  const journal = await openJournal({ mac, log, own }, { directory, name: NAME })
  t.teardown(() => journal.close())
  const ingested: LogRow[] = []
  const store: LogStore = {
    ...logs,
    ingest: (rows) => {
      ingested.push(...rows)
      return logs.ingest(rows)
    },
  }
  const ingest = createIngest({ logs: store, mac, log, own }, { directory })
  const digestsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = digests
    await work()
    return digests - before
  }
  const written = () => rowsIn(directory, NAME)
  await ingest.catchUp()
  const ids = async () => (await logs.find('tenant-1')).map(({ entity_id }) => entity_id)
  return {
    path: join(directory, `${NAME}.000001.jsonl`),
    journal,
    ingest,
    errors,
    digestsOf,
    ids,
    ingested,
    written,
  }
}

t.test('records that a process wrote itself become rows as written, without another digest', async (t) => {
  const { journal, ingest, digestsOf, ingested, written } = await setUp(t)
  await journal.append([
    record('id-1', { message: 'Ünïcode \ud800 and "quotes"', token_seq: 7 }),
    record('id-2', { actor_id: null, actor_type: null, message: 'x'.repeat(300) }),
  ])
  await journal.append([record('id-3')])
  t.equal(await digestsOf(() => ingest.catchUp()), 0)
  t.strictSame(ingested, written())
  t.equal(ingest.issues, 0)
})

for (const [name, edit] of Object.entries({
  'of the same length': (text: string) => text.replace('id-2', 'id-9'),
  'that makes a line longer': (text: string) => text.replace('id-2', 'id-22'),
  'of the hash': (text: string) => text.replace(/[0-9a-f]{64}"\}\n$/, `${'0'.repeat(64)}"}\n`),
}))
  t.test(`an edit ${name} is found by the process that wrote the line`, async (t) => {
    const { path, journal, ingest, errors, ids } = await setUp(t)
    await journal.append([record('id-1'), record('id-2')])
    writeFileSync(path, edit(readFileSync(path, 'utf8')))
    await ingest.catchUp()
    t.equal(ingest.issues, 1)
    t.match(errors, [{ text: /is broken/ }])
    t.same(await ids(), ['id-1'])
  })

t.test('a rejected record is not mistaken for the one written in its place', async (t) => {
  const { journal, ingest, digestsOf, ids } = await setUp(t)
  const rejected = journal.append([record('id-1'), record('x'.repeat(20_000))])
  await Promise.all([t.rejects(rejected), journal.append([record('id-2')])])
  t.equal(await digestsOf(() => ingest.catchUp()), 0)
  t.same(await ids(), ['id-2'])
})

t.test('lines evicted from the cache are verified as any other', async (t) => {
  const { journal, ingest, digestsOf, ids } = await setUp(t)
  await journal.append(Array.from({ length: 4_096 + 10 }, (_, index) => record(`id-${index}`)))
  t.equal(await digestsOf(() => ingest.catchUp()), 4_096)
  t.equal((await ids()).length, 4_106)
  t.equal(ingest.issues, 0)
})
