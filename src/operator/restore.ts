import { existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyJournals } from '../audit/verify.ts'
import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import type { Config } from '../config.ts'
import { journalDirectory } from '../roles/foundation.ts'
import { sqliteTarget } from '../store/copy/sqlite.ts'
import type { Cell, CopyTable, CopyTarget } from '../store/copy/types.ts'
import { SCHEMA_VERSION } from '../store/migrations/index.ts'
import { BACKUP_FORMAT } from './backup.ts'
import { damagedFile, readLines } from './backup-file.ts'
import { type OperatedVault, type Print, refusePostgres, withVault } from './open-vault.ts'

const BATCH = 500
/** Names of journal files; nothing else is written from a backup. */
const FILE = /^[a-z0-9][a-z0-9_-]{0,49}\.\d{6,}\.jsonl$/

const cells = ({ columns }: CopyTable, row: readonly unknown[]): readonly Cell[] =>
  row.map((value, at) =>
    columns[at]?.kind === 'bytes' && typeof value === 'string'
      ? Buffer.from(value, 'base64')
      : (value as Cell),
  )

interface Head {
  readonly schema: number
  readonly root: string
  readonly sequences: Readonly<Record<string, number>>
}

const headOf = (path: string, value: unknown): Head => {
  if (!isObject(value) || value.sidevault !== 'backup')
    throw new AppError('invalid', `"${path}" is not a backup of Sidevault.`)
  if (value.format !== BACKUP_FORMAT || Number(value.schema) > SCHEMA_VERSION)
    throw new AppError('invalid', `"${path}" was made by a newer Sidevault. Restore it with that version.`)
  return value as unknown as Head
}

const same = (one: unknown, other: unknown): boolean => {
  const sorted = (value: unknown) =>
    JSON.stringify(
      isObject(value)
        ? Object.entries(value)
            .filter(([, count]) => count !== 0)
            .sort()
        : value,
    )
  return sorted(one) === sorted(other)
}

/** Fills an empty store and an empty folder of journals; both count only when this has resolved. */
const load = async (
  path: string,
  folder: string,
  openTarget: (schema: number) => CopyTarget,
): Promise<{ readonly head: Head; readonly end: Readonly<Record<string, unknown>> }> => {
  let head: Head | undefined
  let target: CopyTarget | undefined
  let table: CopyTable | undefined
  let rows: (readonly Cell[])[] = []
  let file: FileHandle | undefined
  let end: Record<string, unknown> | undefined
  const files: Record<string, number> = {}
  let name = ''

  const flush = async () => {
    if (table !== undefined && rows.length > 0) await target?.insert(table, rows)
    rows = []
  }
  const endFile = async () => {
    await file?.sync()
    await file?.close()
    file = undefined
  }

  try {
    for await (const line of readLines(path)) {
      if (head === undefined) {
        head = headOf(path, line)
        target = openTarget(head.schema)
      } else if (Array.isArray(line)) {
        if (table === undefined || line.length !== table.columns.length) throw damagedFile(path)
        rows.push(cells(table, line))
        if (rows.length === BATCH) await flush()
      } else if (!isObject(line)) throw damagedFile(path)
      else if (typeof line.table === 'string') {
        await flush()
        table = { name: line.table, columns: line.columns as CopyTable['columns'] }
      } else if (typeof line.file === 'string') {
        await flush()
        await endFile()
        name = line.file
        if (!FILE.test(name)) throw damagedFile(path)
        files[name] = 0
        file = await open(join(folder, name), 'wx', 0o600)
      } else if (typeof line.chunk === 'string') {
        const bytes = Buffer.from(line.chunk, 'base64')
        files[name] = (files[name] ?? 0) + bytes.length
        await file?.appendFile(bytes)
      } else end = line
    }
    await flush()
    await endFile()
    if (head === undefined || target === undefined || end === undefined) throw damagedFile(path)
    const counts = await target.finish(head.sequences)
    if (!same(counts, end.rows) || !same(files, end.files)) throw damagedFile(path)
    return { head, end }
  } catch (thrown) {
    await endFile()
    await target?.abort()
    throw thrown
  }
}

const refuseFull = async (config: Config, path: string): Promise<void> => {
  if (!existsSync(path)) throw new AppError('invalid', `There is no file "${path}".`)
  const journals = await readdir(journalDirectory(config)).catch((): string[] => [])
  if (existsSync(config.store) || journals.length > 0)
    throw new AppError(
      'invalid',
      `The data directory "${config.dataDir}" holds a vault already. Set SIDEVAULT_DATA_DIR to an empty one.`,
    )
}

const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
}

/** With the root key at hand: that it is the right one, that the file is what a vault of this key wrote, and the journals. */
const verify = (config: Config, end: Readonly<Record<string, unknown>>, print: Print): Promise<boolean> => {
  const check = async ({ keys, store }: OperatedVault): Promise<boolean> => {
    if (keys.mac('audit', `backup ${end.sha256}`) !== end.mac) {
      print('BROKEN  The backup was changed after it was made: its seal is not that of this vault.')
      return false
    }
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const { ok, journals } = await verifyJournals({ mac, logs: store.logs }, journalDirectory(config))
    for (const { name, fault } of journals) if (fault) print(`BROKEN  ${name}: ${fault.reason}`)
    if (ok) print('ok      the root key opens it, and the audit chain holds')
    return ok
  }
  return withVault(config, check, { mode: 'read-write' })
}

/**
 * `sidevault restore`: a backup into a data directory without a vault. Everything is checked before it counts: the
 * checksum, every count, references, and the database itself; then, when the root key is there, the seal of the whole
 * and the audit chain. False when these do not hold.
 */
export const runRestore = async (config: Config, path: string, print: Print): Promise<boolean> => {
  refusePostgres(config)
  await refuseFull(config, path)
  const database = `${config.store}.restoring`
  const folder = `${journalDirectory(config)}.restoring`
  await rm(database, { force: true })
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const { head, end } = await load(path, folder, (schema) =>
      sqliteTarget(database, schema, systemClock.now()),
    )
    await syncFile(database)
    await rmdir(journalDirectory(config)).catch(() => {})
    await rename(folder, journalDirectory(config))
    await rename(database, config.store)
    const { tokens, tenants } = end.rows as Record<string, number>
    print(`restored ${config.store}: ${tokens ?? 0} tokens, ${tenants ?? 0} tenants`)
    try {
      return await verify(config, end, print)
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'invalid') throw thrown
      print(`needs   the root key ${head.root}: ${thrown.message}`)
      return false
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
    await rm(database, { force: true })
  }
}
