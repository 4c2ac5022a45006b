import { accessSync, constants, statSync } from 'node:fs'
import { operatorRecord } from '../access/audit-record.ts'
import type { AuditRecord, Journal } from '../audit/types.ts'
import { systemClock } from '../common/clock.ts'
import { codeOf } from '../common/errors.ts'
import { newId } from '../common/ids.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import type { Keys } from '../keys/types.ts'
import { acquireJournal } from '../roles/acquire-journal.ts'
import { journalDirectory } from '../roles/replica.ts'
import { openStoreKeys, storeLocation } from '../roles/runtime.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { cannotOpen, StartError } from '../supervisor/start-error.ts'

export type Print = (line: string) => void

/** A vault opened by a command, with or without a running service. */
export interface OperatedVault {
  readonly store: Store
  readonly keys: Keys
  readonly journal: Journal
  /** Writes an audit record before the action; the command stops when that fails. */
  record(tenantId: string, entity: AuditRecord['entity_type'], id: string, message: string): Promise<void>
}

/** Creates `record` for a journal. */
export const recorder =
  (journal: Journal): OperatedVault['record'] =>
  (tenantId, entity, id, message) =>
    journal.append([
      operatorRecord(tenantId, { entity, id, operation: 'update', message }, newId(), systemClock.now()),
    ])

/**
 * Throws StartError for an existing path of another user. Root may open it, but the service could not open the files
 * that root creates beside it.
 */
export const rejectOtherOwner = (path: string): void => {
  let owner: number | undefined
  try {
    owner = statSync(path, { throwIfNoEntry: false })?.uid
  } catch (error) {
    throw cannotOpen(`"${path}"`, codeOf(error))
  }
  if (owner === undefined || process.geteuid === undefined || owner === process.geteuid()) return
  throw new StartError(
    `"${path}" belongs to another user (uid ${owner}). Run the command as the user of the service: sudo -u '#${owner}' sidevault …`,
  )
}

/** Throws StartError if there is no SQLite file in the data directory, or another user owns it. */
export const rejectAbsentFile = ({ store, dataDir }: Config): void => {
  try {
    accessSync(store, constants.R_OK)
  } catch (error) {
    const code = codeOf(error)
    if (!['ENOENT', 'ENOTDIR'].includes(code)) throw cannotOpen(`The database "${store}"`, code)
    throw new StartError(
      `There is no database in "${dataDir}". Set SIDEVAULT_DATA_DIR to the data directory of the service.`,
    )
  }
  rejectOtherOwner(store)
}

/** Prevents that a command creates a vault, or files that the service cannot open. Throws StartError. */
export const rejectAbsent = (config: Config): void => {
  if (config.postgres === undefined) rejectAbsentFile(config)
  else rejectOtherOwner(journalDirectory(config))
}

/**
 * Opens store, keys and the journal `operator`, whose lock rejects a concurrent command, and closes them after `work`.
 * `read-write` migrates the schema first. The service may run on any machine, or be stopped.
 */
export const withVault = async <T>(
  config: Config,
  work: (vault: OperatedVault) => Promise<T>,
  { mode = 'join' }: { readonly mode?: 'join' | 'read-write' } = {},
): Promise<T> => {
  rejectAbsent(config)
  const log = createLog('operator', config.logLevel)
  const store = await openStore({ location: storeLocation(config), postgres: config.storeLimits, mode, log })
  try {
    const keys = await openStoreKeys(config, { store, log }, false)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const journal = await acquireJournal({ store, mac, log }, config, { process: 'operator', sync: true })
    try {
      return await work({ store, keys, journal, record: recorder(journal) })
    } finally {
      await journal.close()
    }
  } finally {
    await store.close()
  }
}
