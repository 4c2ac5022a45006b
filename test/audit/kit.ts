import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '../../src/audit/journal.ts'
import { type ChainLine, readLine } from '../../src/audit/line.ts'
import type { AuditRecord } from '../../src/audit/types.ts'
import type { Log } from '../../src/common/log.ts'
import type { LogRow } from '../../src/store/logs/types.ts'
import { storeInThread } from '../kit/store-in-thread.ts'

export const mac = (data: string | Buffer): string =>
  createHmac('sha256', 'audit key').update(data).digest('hex')

/** A log whose lines a test can read. */
export const recordingLog = () => {
  const lines: { readonly level: string; readonly members: object; readonly text: string }[] = []
  const at = (level: string) => (members: object, text: string) => void lines.push({ level, members, text })
  const log = { warn: at('warn'), error: at('error'), info: at('info') } as unknown as Log
  return { log, lines }
}

/** The record of a call of its own. */
export const record = (id: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  tenant_id: 'tenant-1',
  entity_type: 'card',
  entity_id: id,
  operation: 'read',
  actor_id: 'app-1',
  actor_type: 'application',
  message: 'Card read',
  trace_id: `trace-${id.slice(0, 36)}`,
  created_at: 1000,
  ...more,
})

/** All lines of a journal's files, in order. */
export const linesOf = (directory: string, name = 'gateway-1') =>
  readdirSync(directory)
    .filter((file) => file.startsWith(`${name}.`) && file.endsWith('.jsonl'))
    .sort()
    .flatMap((file) => readFileSync(join(directory, file), 'utf8').split('\n').slice(0, -1))
    .map((text): ChainLine => {
      // The chain is not verified.
      const line = readLine(() => JSON.parse(text).hash, '', Buffer.from(text))
      if (line === undefined) throw new Error(`no line of a journal: ${text}`)
      return line
    })

export const idsOf = (directory: string, name?: string): readonly string[] =>
  linesOf(directory, name).flatMap(({ records }) => records.map(({ entity_id }) => entity_id))

/** Rows of all lines of a journal. */
export const rowsIn = (directory: string, journal = 'gateway-1'): readonly LogRow[] =>
  linesOf(directory, journal).flatMap(({ seq, records, hash }) =>
    records.map((record, index) => ({
      ...record,
      journal,
      journal_seq: seq - records.length + 1 + index,
      hash,
    })),
  )

/** A closed journal with records `1` … `count`. */
export const writeJournal = async (
  directory: string,
  count: number,
  name = 'gateway-1',
  segmentBytes = 2 ** 20,
) => {
  const journal = await openJournal({ mac, log: recordingLog().log }, { directory, name, segmentBytes })
  const start = journalSize(directory, name)
  for (let index = 1; index <= count; index++) await journal.append([record(`id-${start + index}`)])
  await journal.close()
}

const journalSize = (directory: string, name: string) => idsOf(directory, name).length

/** A process that opens a journal and acknowledges appends on its standard output, one id a line. */
export const writer = (
  directory: string,
  { count = 1_000_000, sync = false, shell = '' }: { count?: number; sync?: boolean; shell?: string } = {},
): ChildProcess & { readonly acknowledged: () => readonly string[] } => {
  const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const code = `
    import { writeSync } from 'node:fs'
    import { openJournal } from ${at('../../src/audit/journal.ts')}
    import { mac, record, recordingLog } from ${at('./kit.ts')}
    const { log } = recordingLog()
    const options = { directory: ${JSON.stringify(directory)}, name: 'gateway-1', sync: ${sync} }
    try {
      const journal = await openJournal({ mac, log }, options)
      for (let index = 0; index < ${count}; index++) {
        const id = process.pid + '-' + index
        await journal.append([record(id)])
        writeSync(1, id + '\\n')
      }
      setInterval(() => {}, 1000)
    } catch (error) {
      writeSync(1, 'failed ' + error.code + ' ' + error.message + '\\n')
    }`
  const command = `${shell} exec "$0" --input-type=module --eval "$1"`
  const child = spawn('sh', ['-c', command, process.execPath, code], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  return Object.assign(child, { acknowledged: () => output.split('\n').slice(0, -1) })
}

/** Resolves when a writer has acknowledged so many appends, or ended. */
export const acknowledgedAtLeast = (child: ReturnType<typeof writer>, count: number): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (child.acknowledged().length >= count) resolve()
    }
    child.stdout?.on('data', check)
    child.once('close', () => resolve())
    check()
  })

export const killed = async (child: ChildProcess): Promise<void> => {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

/** Members of a tap test that a set-up needs. */
export interface Test {
  testdir(): string
  teardown(handler: () => Promise<void>): void
  equal(found: unknown, wanted: unknown): void
}

/** An empty folder for journals, beside a store for what is ingested from them. */
export const openLogs = async (t: Test) => {
  const directory = join(t.testdir(), 'audit')
  mkdirSync(directory)
  const location = join(directory, '..', 'vault.db')
  const { store } = storeInThread(location)
  t.teardown(() => store.close())
  return { directory, location, logs: store.logs }
}
