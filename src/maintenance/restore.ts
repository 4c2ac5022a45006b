import { accessSync, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyJournals } from '../audit/verify.ts'
import { AppError, codeOf } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { openStoreKeys } from '../roles/runtime.ts'
import { FIRST_VERSION, SCHEMA_VERSION } from '../store/migrations/index.ts'
import type { Cell, SnapshotTable, SnapshotTarget } from '../store/snapshot/types.ts'
import { partialIssue } from './atomic-rename.ts'
import { BACKUP_FORMAT } from './backup.ts'
import { damagedFile, readLines } from './backup-file.ts'
import type { Print } from './open-vault.ts'
import { createProgress } from './progress.ts'
import { type Staged, stage } from './staging-directory.ts'

/** Rows of one statement, and an estimate of their bytes. */
const BATCH = 500
const BATCH_BYTES = 8 * 1024 * 1024

const sizeOf = (row: readonly unknown[]): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0)

/** Names of journal files; nothing else is written from a backup. */
const FILE = /^[a-z0-9][a-z0-9_-]{0,49}\.(\d{6,}\.jsonl|checkpoint)$/

const cells = ({ columns }: SnapshotTable, row: readonly unknown[]): readonly Cell[] =>
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
    throw new AppError('invalid', `"${path}" was created by a newer Sidevault. Restore it with that version.`)
  if (Number(value.schema) < FIRST_VERSION)
    throw new AppError('invalid', `"${path}" is of Sidevault 0.1.0, whose data this version cannot read.`)
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

/** Loads a backup into an empty store and an empty folder of journals; both are valid only when this resolves. */
const load = async (
  path: string,
  { folder, target: openTarget }: Staged,
  print: Print,
): Promise<{ readonly head: Head; readonly end: Readonly<Record<string, unknown>> }> => {
  let head: Head | undefined
  let target: SnapshotTarget | undefined
  let table: SnapshotTable | undefined
  let rows: (readonly Cell[])[] = []
  let bytes = 0
  let file: FileHandle | undefined
  let end: Record<string, unknown> | undefined
  const files: Record<string, number> = {}
  let name = ''
  let copied = 0
  const progress = createProgress(print)

  const flush = async () => {
    if (table !== undefined && rows.length > 0) await target?.insert(table, rows)
    copied += rows.length
    if (table !== undefined) progress(table.name, copied)
    rows = []
    bytes = 0
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
        target = await openTarget(head.schema)
      } else if (Array.isArray(line)) {
        if (table === undefined || line.length !== table.columns.length) throw damagedFile(path)
        rows.push(cells(table, line))
        bytes += sizeOf(line)
        if (rows.length === BATCH || bytes > BATCH_BYTES) await flush()
      } else if (!isObject(line)) throw damagedFile(path)
      else if (typeof line.table === 'string') {
        await flush()
        copied = 0
        table = { name: line.table, columns: line.columns as SnapshotTable['columns'] }
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
    await endFile().catch(() => {})
    await target?.abort()
    throw partialIssue(folder, thrown)
  }
}

/**
 * With a shared store, journal names end with the id of their machine: the backup contains only those of its machine.
 */
const ownTo = (files: readonly string[]) => {
  const machineOf = (name: string) => /-[0-9a-f]{12}$/.exec(name)?.[0] ?? ''
  const machines = new Set(files.map((file) => machineOf(file.split('.')[0] as string)))
  return (name: string) => machines.has(machineOf(name))
}

/**
 * Verifies a staged vault with the configured root key: the key, the seal of the file, and the journals. `needed`: the
 * error when the root key does not open it. `altered`: the seal does not match.
 */
const verify = (
  config: Config,
  { folder, read }: Staged,
  end: Readonly<Record<string, unknown>>,
): Promise<{ readonly issues: readonly string[]; readonly altered?: true } | { readonly needed: string }> =>
  read(async (store) => {
    const log = createLog('operator', config.logLevel)
    const keys = await openStoreKeys(config, { store, log }, false).catch((thrown: unknown) => {
      if (thrown instanceof AppError) return thrown.message
      throw thrown
    })
    if (typeof keys === 'string') return { needed: keys }
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    if (mac(`backup ${end.sha256}`) !== end.mac)
      return {
        issues: ['The backup was altered, or is not of this vault: its seal does not match.'],
        altered: true,
      }
    const own = ownTo(Object.keys(end.files as object))
    const { journals } = await verifyJournals({ mac, logs: store.logs, own }, folder)
    return {
      issues: journals.flatMap(({ name, issue }) => (issue ? [`${name}: ${issue.reason}`] : [])),
    }
  })

/**
 * `sidevault restore`: restores a backup into an empty data directory or database. Checks checksum, counts, foreign
 * keys, integrity, the seal and the audit chain before it publishes anything. False, without effect, when seal or audit
 * chain do not verify. These two need the root key. `unverified` restores without it, and with a broken audit chain.
 */
export const runRestore = async (
  config: Config,
  { path, unverified }: { readonly path: string; readonly unverified: boolean },
  print: Print,
): Promise<boolean> => {
  try {
    accessSync(path, constants.R_OK)
  } catch (error) {
    const issue = codeOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${codeOf(error)})`
    throw new AppError('invalid', `The file "${path}" ${issue}.`)
  }
  const staged = await stage(config)
  try {
    const { head, end } = await load(path, staged, print)
    const found = await verify(config, staged, end)
    const isBroken = 'issues' in found && found.issues.length > 0
    if (isBroken) {
      for (const issue of found.issues) print(`BROKEN  ${issue}`)
      if (found.altered || !unverified) {
        print(`Nothing was restored. Use another backup${found.altered ? '' : ', or --unverified'}.`)
        return false
      }
    }
    if ('needed' in found && !unverified)
      throw new AppError(
        'invalid',
        `The backup needs the root key ${head.root}: ${found.needed} Provide it, or restore with --unverified, without a check of seal and audit chain. Nothing was restored.`,
      )
    await staged.publish(Object.keys(end.files as object))
    const { tokens, tenants } = end.rows as Record<string, number>
    print(
      `restored ${config.postgres === undefined ? config.store : 'into the database'}: ${tokens ?? 0} tokens, ${tenants ?? 0} tenants`,
    )
    if ('needed' in found) print(`UNVERIFIED It needs the root key ${head.root}: ${found.needed}`)
    else if (isBroken) print('UNVERIFIED "sidevault audit verify" names the remedy for its audit chain.')
    else print('ok      the root key opens it, and the audit chain verifies')
    return true
  } finally {
    await staged.remove()
  }
}
