import { acknowledgeLoss, findLoss, type LossDeps } from '../audit/acknowledge-loss.ts'
import { withRetainedFiles } from '../audit/retention-lock.ts'
import { type AuditReport, type JournalReport, journalNames, verifyJournals } from '../audit/verify.ts'
import { type Head, type RowReport, verifyRows } from '../audit/verify-rows.ts'
import { isoTime, systemClock } from '../common/clock.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import type { Keys } from '../keys/types.ts'
import { isOwnJournal, journalDirectory } from '../roles/replica.ts'
import { openStoreKeys, storeLocation } from '../roles/runtime.ts'
import { openStore } from '../store/open.ts'
import { StartError } from '../supervisor/start-error.ts'
import { type Print, rejectAbsent } from './open-vault.ts'

/** Opens the journals of a data directory read-only, with or without a running service. */
const withJournals = async <T>(
  config: Config,
  work: (deps: LossDeps & Pick<Keys, 'journalMac'>, directory: string) => Promise<T>,
): Promise<T> => {
  rejectAbsent(config)
  const log = createLog('audit', config.logLevel)
  const store = await openStore({
    location: storeLocation(config),
    postgres: config.storeLimits,
    mode: 'read-only',
    log,
  })
  try {
    const keys = await openStoreKeys(config, { store, log }, false)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const own = await isOwnJournal(config)
    const directory = journalDirectory(config)
    const { journalMac } = keys
    const deps = { mac, journalMac, logs: store.logs, own, clock: systemClock }
    return await withRetainedFiles(directory, () => work(deps, directory))
  } finally {
    await store.close()
  }
}

export const printReport = (
  { name, records, acknowledged, removed, issue }: JournalReport,
  print: Print,
): void => {
  if (issue === undefined) print(`ok      ${name}: ${records} records`)
  else
    print(
      `BROKEN  ${name}: ${issue.file} line ${issue.line}, record ${issue.seq}: ${issue.reason}; ${records} records before it verify`,
    )
  if (removed !== undefined) {
    const { seq, since, at, losses } = removed
    const times = since === at ? isoTime(at) : `${isoTime(since)} to ${isoTime(at)}`
    const lost = losses === 0 ? '' : `; ${losses} of them acknowledge a loss`
    print(`removed ${name}: records 1 to ${seq}, by retention, ${times}; the store has them${lost}`)
  }
  for (const { seq, records } of acknowledged ?? [])
    for (const { created_at, message } of records)
      print(`loss    ${name}: acknowledged by record ${seq} at ${isoTime(created_at)}. ${message}`)
}

/** Verifies the hash chain of every journal of the data directory. */
export const verifyAudit = (config: Config): Promise<AuditReport> => withJournals(config, verifyJournals)

/** Prints a line for each journal. */
export const printVerified = ({ ok, journals }: AuditReport, print: Print): void => {
  for (const journal of journals) printReport(journal, print)
  if (journals.length === 0) print('There is no journal yet.')
  if (!ok)
    print(
      'Restore the files of a broken journal. If that is impossible: sidevault audit acknowledge-loss --journal <name>',
    )
}

/** A verification as data for programs. Records are not in it. */
export const verifiedJson = ({ ok, journals }: AuditReport): object => ({
  ok,
  journals: journals.map(({ name, records, issue, removed, acknowledged = [] }) => ({
    name,
    records,
    issue,
    removed: removed && {
      records: removed.seq,
      since: isoTime(removed.since),
      at: isoTime(removed.at),
      acknowledged_losses: removed.losses,
    },
    acknowledged_losses: acknowledged.flatMap(({ seq, records }) =>
      records.map(({ created_at, message }) => ({ record: seq, created_at: isoTime(created_at), message })),
    ),
  })),
})

/** Parses `<journal>:<seq>:<hash>`, the form of heads in the log. */
const headOf = (text: string): Head => {
  const [, journal, seq, hash] = /^([^:]+):([1-9]\d{0,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (journal === undefined || hash === undefined)
    throw new StartError(`"${text}" is not a chain head. Write <journal>:<seq>:<hash>.`, {
      configuration: true,
    })
  return { journal, seq: Number(seq), hash }
}

interface RowsReport {
  readonly ok: boolean
  readonly journals: readonly RowReport[]
}

/** Recomputes the chains from the rows of the database. `texts`: heads as the log has them. */
export const verifyAuditRows = async (config: Config, texts: readonly string[]): Promise<RowsReport> => {
  const heads = texts.map(headOf)
  const journals = await withJournals(config, ({ journalMac, logs }) =>
    verifyRows({ journalMac, logs }, { heads }),
  )
  return { ok: journals.every(({ issue }) => issue === undefined), journals }
}

/** Prints a line for each journal. */
export const printVerifiedRows = ({ journals }: RowsReport, print: Print): void => {
  for (const { name, rows, issue } of journals)
    print(
      issue === undefined
        ? `ok      ${name}: ${rows} rows`
        : `BROKEN  ${name}: row ${issue.seq}: ${issue.reason}; ${rows} rows before it verify`,
    )
  if (journals.length === 0) print('There are no rows of audit records yet.')
}

/** Prints the loss of a journal and, with `yes`, acknowledges it; false when a loss was not acknowledged. */
export const acknowledgeAuditLoss = (
  config: Config,
  { journal, yes }: { readonly journal: string; readonly yes: boolean },
  print: Print,
): Promise<boolean> =>
  withJournals(config, async (deps, directory) => {
    const names = await journalNames(directory, deps)
    if (!names.includes(journal))
      throw new StartError(
        `Journal "${journal}" does not exist. Existing journals: ${names.join(', ') || 'none'}.`,
      )
    const loss = await findLoss(deps, directory, journal)
    if (loss === undefined) {
      print(`ok      ${journal}: nothing is lost`)
      return true
    }
    const { issue, place, segments } = loss
    print(`BROKEN  ${journal}: ${issue.file} line ${issue.line}: ${issue.reason}`)
    print(`        Records up to ${place.seq} verify. Later ones will be set aside and count as lost.`)
    for (const { file } of segments) print(`        ${file}`)
    if (!yes) {
      print('Nothing was changed. Stop the service, then add --yes to acknowledge the loss.')
      return false
    }
    const aside = await acknowledgeLoss(deps, directory, journal)
    for (const file of aside ?? []) print(`moved   ${file}`)
    print(
      'The journal continues with a record of this loss, which "sidevault audit verify" reports from now on.',
    )
    return true
  })
