import { acknowledgeLoss, findLoss, type LossDeps } from '../audit/acknowledge-loss.ts'
import { withRetainedFiles } from '../audit/retention-lock.ts'
import { type JournalReport, journalNames, verifyJournals } from '../audit/verify.ts'
import { type Head, verifyRows } from '../audit/verify-rows.ts'
import { isoTime, systemClock } from '../common/clock.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { isOwnJournal, journalDirectory } from '../roles/replica.ts'
import { openStoreKeys, storeLocation } from '../roles/runtime.ts'
import { openStore } from '../store/open.ts'
import { StartError } from '../supervisor/start-error.ts'
import { type Print, rejectAbsent } from './open-vault.ts'

/** Opens the journals of a data directory read-only, with or without a running service. */
const withJournals = async <T>(
  config: Config,
  work: (deps: LossDeps, directory: string) => Promise<T>,
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
    const deps = { mac, logs: store.logs, own, clock: systemClock }
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

/** Verifies the hash chain of every journal of the data directory and prints a line for each; true when all verify. */
export const verifyAudit = (config: Config, print: Print): Promise<boolean> =>
  withJournals(config, async (deps, directory) => {
    const report = await verifyJournals(deps, directory)
    for (const journal of report.journals) printReport(journal, print)
    if (report.journals.length === 0) print('There is no journal yet.')
    if (!report.ok)
      print(
        'Restore the files of a broken journal. If that is impossible: sidevault audit acknowledge-loss --journal <name>',
      )
    return report.ok
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

/** Recomputes the chains from the rows of the database and prints a line for each; true when all verify. */
export const verifyAuditRows = async (
  config: Config,
  texts: readonly string[],
  print: Print,
): Promise<boolean> => {
  const heads = texts.map(headOf)
  return withJournals(config, async ({ mac, logs }) => {
    const reports = await verifyRows({ mac, logs }, { heads })
    for (const { name, rows, issue } of reports)
      print(
        issue === undefined
          ? `ok      ${name}: ${rows} rows`
          : `BROKEN  ${name}: row ${issue.seq}: ${issue.reason}; ${rows} rows before it verify`,
      )
    if (reports.length === 0) print('There are no rows of audit records yet.')
    return reports.every(({ issue }) => issue === undefined)
  })
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
