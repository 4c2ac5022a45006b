import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECKPOINT } from '../audit/checkpoint.ts'
import { withRetainedFiles } from '../audit/retention-lock.ts'
import { listSegments } from '../audit/segments.ts'
import { verifyJournals } from '../audit/verify.ts'
import { isoTime, systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { rootChangeIn } from '../keys/root-key-rotation.ts'
import { rootIdOf } from '../keys/wrap.ts'
import { isOwnJournal, journalDirectory } from '../roles/replica.ts'
import { storeLocation } from '../roles/runtime.ts'
import { openSnapshot } from '../store/snapshot/open.ts'
import type { Cell, SnapshotTable } from '../store/snapshot/types.ts'
import { printReport } from './audit.ts'
import { type LineWriter, writeLines } from './backup-file.ts'
import { type OperatedVault, type Print, withVault } from './open-vault.ts'
import { createProgress } from './progress.ts'

/** Version of the file format (README.md). */
export const BACKUP_FORMAT = 1
/**
 * Short-lived data is excluded, because backups live for years: stored responses, a card's cvc, and, by the snapshot,
 * records that are bound to tokens.
 */
const EXCLUDED: readonly string[] = ['idempotency_keys', 'idempotency_key_tokens']
const EMPTIED: readonly string[] = ['ephemeral', 'ephemeral_until']
const CHUNK = 65_536
const NEWLINE = 0x0a

const cell = (value: Cell): string | number | null =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value

const writeTable = async (
  lines: LineWriter,
  table: SnapshotTable,
  rows: AsyncIterable<readonly (readonly Cell[])[]>,
  print: Print,
): Promise<number> => {
  await lines.write({ table: table.name, columns: table.columns })
  const emptied = table.columns.map(({ name }) => table.name === 'tokens' && EMPTIED.includes(name))
  let count = 0
  const progress = createProgress(print)
  for await (const batch of rows)
    for (const row of batch) {
      await lines.write(row.map((value, at) => (emptied[at] ? null : cell(value))))
      progress(table.name, ++count)
    }
  return count
}

/** Writes the complete lines of a file that another process appends to. */
const writeFile = async (lines: LineWriter, name: string, path: string): Promise<number> => {
  await lines.write({ file: name })
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const chunk = Buffer.allocUnsafe(CHUNK)
    let at = 0
    let held = Buffer.alloc(0)
    while (at < size) {
      const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK, size - at), at)
      if (bytesRead === 0) break
      at += bytesRead
      const bytes = Buffer.concat([held, chunk.subarray(0, bytesRead)])
      const end = bytes.lastIndexOf(NEWLINE) + 1
      if (end > 0) await lines.write({ chunk: bytes.toString('base64', 0, end) })
      held = bytes.subarray(end)
    }
    return at - held.length
  } finally {
    await file.close()
  }
}

/** Names of all files of the audit chains. */
const journalFiles = async (directory: string): Promise<readonly string[]> =>
  [...listSegments(directory)].flatMap(([name, segments]) => [
    ...[name + CHECKPOINT].filter((file) => existsSync(join(directory, file))),
    ...segments.map(({ file }) => file),
  ])

/**
 * `sidevault backup`: a consistent snapshot of the store, then the audit journals, which have at least the records in
 * the store, since retention is locked. The service may run. Values stay sealed; the root key is not included.
 */
export const runBackup = async (config: Config, path: string, print: Print): Promise<boolean> => {
  const directory = journalDirectory(config)
  /** False, with a line for each broken journal. */
  const verify = async ({ keys, store }: OperatedVault): Promise<boolean> => {
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const deps = { mac, logs: store.logs, own: await isOwnJournal(config) }
    const { journals, ok } = await verifyJournals(deps, directory)
    for (const report of journals) if (report.issue !== undefined) printReport(report, print)
    if (!ok)
      print(
        'The backup restores only with --unverified. Restore the files of the journal, or run "sidevault audit acknowledge-loss --journal <name>", then create another backup.',
      )
    return ok
  }
  const copy = async ({ keys, store, record }: OperatedVault) => {
    const serviceKeys = await store.keys.keys('')
    if (rootChangeIn(serviceKeys) !== undefined)
      throw new AppError(
        'conflict',
        'A root key rotation is in progress, so a backup might need both keys. Complete "sidevault keys rotate-root", or go back with --abort; then retry.',
      )
    const lines = writeLines(path)
    try {
      await record('', 'service', 'backup', 'Backup started')
      const check = serviceKeys.find(({ purpose }) => purpose === 'check')
      const root = check && rootIdOf(check)
      const snapshot = await openSnapshot(storeLocation(config))
      const rows: Record<string, number> = {}
      try {
        const at = isoTime(systemClock.now())
        const { schema, sequences } = snapshot
        await lines.write({
          sidevault: 'backup',
          format: BACKUP_FORMAT,
          created_at: at,
          schema,
          root,
          sequences,
        })
        for (const table of snapshot.tables)
          if (!EXCLUDED.includes(table.name))
            rows[table.name] = await writeTable(lines, table, snapshot.rows(table), print)
      } finally {
        await snapshot.close()
      }
      const files: Record<string, number> = {}
      for (const file of await journalFiles(directory))
        files[file] = await writeFile(lines, file, join(directory, file))
      await lines.finish(({ sha256 }) => ({ rows, files, mac: keys.mac('audit', `backup ${sha256}`) }))
      print(
        `wrote   ${path}: ${rows.tokens ?? 0} tokens, ${rows.tenants ?? 0} tenants, ${Object.keys(files).length} journal files`,
      )
      print(`needs   the root key ${root}, which is not included. Store it separately.`)
    } catch (thrown) {
      await lines.abort()
      throw thrown
    }
  }
  return withVault(config, (vault) =>
    withRetainedFiles(directory, async () => {
      await copy(vault)
      return verify(vault)
    }),
  )
}
