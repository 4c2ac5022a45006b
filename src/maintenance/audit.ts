import { existsSync } from 'node:fs'
import { acceptLoss, findLoss, type LossDeps } from '../audit/acknowledge-loss.ts'
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
import type { Print } from './open-vault.ts'

/** Hands over what reads the journals of a data directory, whether its service runs or not. */
const withJournals = async <T>(
  config: Config,
  work: (deps: LossDeps, directory: string) => Promise<T>,
): Promise<T> => {
  if (config.postgres === undefined && !existsSync(config.store))
    throw new StartError(
      `There is no database in "${config.dataDir}". Set SIDEVAULT_DATA_DIR to the data directory of the service.`,
    )
  const log = createLog('audit', config.logLevel)
  const store = await openStore({
    location: storeLocation(config),
    postgres: config.storeLimits,
    mode: 'read-only',
    log,
  })
  try {
    const keys = await openStoreKeys(config, store, false)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const own = await isOwnJournal(config)
    const directory = journalDirectory(config)
    const deps = { mac, logs: store.logs, own, clock: systemClock }
    return await withRetainedFiles(directory, () => work(deps, directory))
  } finally {
    await store.close()
  }
}

const printReport = ({ name, records, accepted, removed, issue }: JournalReport, print: Print): void => {
  if (issue === undefined) print(`ok      ${name}: ${records} records`)
  else
    print(
      `BROKEN  ${name}: ${issue.file} line ${issue.line}, record ${issue.seq}: ${issue.reason}; ${records} records before it hold`,
    )
  if (removed !== undefined) {
    const { seq, since, at, losses } = removed
    const times = since === at ? isoTime(at) : `${isoTime(since)} to ${isoTime(at)}`
    const lost = losses === 0 ? '' : `; ${losses} of them accepted a loss`
    print(`removed ${name}: records 1 to ${seq}, by retention, ${times}; the store has them${lost}`)
  }
  for (const { seq, record } of accepted ?? [])
    print(`loss    ${name}: accepted by record ${seq} at ${isoTime(record.created_at)}. ${record.message}`)
}

/** Checks the hash chain of every journal of the data directory and prints a line for each; true when all hold. */
export const verifyAudit = (config: Config, print: Print): Promise<boolean> =>
  withJournals(config, async (deps, directory) => {
    const report = await verifyJournals(deps, directory)
    for (const journal of report.journals) printReport(journal, print)
    if (report.journals.length === 0) print('There is no journal yet.')
    if (!report.ok)
      print(
        'Restore the files of a broken journal; if that cannot be done: sidevault audit acknowledge-loss --journal <name>',
      )
    return report.ok
  })

/** `<journal>:<seq>:<hash>`, as the log of the service prints heads. */
const headOf = (text: string): Head => {
  const [, journal, seq, hash] = /^([^:]+):([1-9]\d{0,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (journal === undefined || hash === undefined)
    throw new StartError(`"${text}" is no head of a chain. Write it as <journal>:<seq>:<hash>.`)
  return { journal, seq: Number(seq), hash }
}

/** Recomputes the chains from the rows of the database and prints a line for each; true when all hold. */
export const verifyAuditRows = (config: Config, heads: readonly string[], print: Print): Promise<boolean> =>
  withJournals(config, async ({ mac, logs }) => {
    const reports = await verifyRows({ mac, logs }, { heads: heads.map(headOf) })
    for (const { name, rows, issue } of reports)
      print(
        issue === undefined
          ? `ok      ${name}: ${rows} rows`
          : `BROKEN  ${name}: row ${issue.seq}: ${issue.reason}; ${rows} rows before it hold`,
      )
    if (reports.length === 0) print('There are no rows of audit records yet.')
    return reports.every(({ issue }) => issue === undefined)
  })

/** Shows what of a journal is lost and, with `yes`, accepts it; false when there is a loss that was not accepted. */
export const acceptAuditLoss = (
  config: Config,
  { journal, yes }: { readonly journal: string; readonly yes: boolean },
  print: Print,
): Promise<boolean> =>
  withJournals(config, async (deps, directory) => {
    const names = await journalNames(directory, deps)
    if (!names.includes(journal))
      throw new StartError(`There is no journal "${journal}". There are: ${names.join(', ') || 'none'}.`)
    const loss = await findLoss(deps, directory, journal)
    if (loss === undefined) {
      print(`ok      ${journal}: nothing is lost`)
      return true
    }
    const { issue, place, segments } = loss
    print(`BROKEN  ${journal}: ${issue.file} line ${issue.line}: ${issue.reason}`)
    print(
      `        Records up to ${place.seq} hold. What is behind them would be set aside and count as lost.`,
    )
    for (const { file } of segments) print(`        ${file}`)
    if (!yes) {
      print('Nothing was changed. Stop the service, then add --yes to accept the loss for good.')
      return false
    }
    const aside = await acceptLoss(deps, directory, journal)
    for (const file of aside ?? []) print(`kept    ${file}`)
    print(`The journal goes on with a record of this loss, which "sidevault audit verify" tells from now on.`)
    return true
  })
