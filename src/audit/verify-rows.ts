import { setTimeout as delay } from 'node:timers/promises'
import type { LogRow, LogStore } from '../store/logs/types.ts'
import { lossContinuesAfter } from './acknowledged-loss.ts'
import { genesis, hashOf, type Mac } from './line.ts'

/** Rows verified before other work gets a turn: some 3 ms. More than a line has. */
const BATCH = 250

export interface RowsDeps {
  /** See `Keys.journalMac`. */
  readonly journalMac: (journal: string) => Mac
  readonly logs: Pick<LogStore, 'rows' | 'rowJournals' | 'journals' | 'position'>
}

/** A record of a journal from an external copy. */
export interface Head {
  readonly journal: string
  readonly seq: number
  readonly hash: string
}

interface RowsOptions {
  /** Chain heads logged earlier, which the rows must match. */
  readonly heads?: readonly Head[]
  /** ms between two batches, for other users of the store. */
  readonly pauseMs?: number
  readonly signal?: AbortSignal
}

export interface RowReport {
  readonly name: string
  /** Number of the last row that verifies, up to the first issue. */
  readonly rows: number
  readonly issue?: { readonly seq: number; readonly reason: string }
}

/** Consecutive rows with one hash: the records of a line. */
const linesOf = (rows: readonly LogRow[]): readonly (readonly [LogRow, ...LogRow[]])[] => {
  const lines: [LogRow, ...LogRow[]][] = []
  for (const row of rows) {
    const last = lines.at(-1)
    if (last !== undefined && last[0].hash === row.hash) last.push(row)
    else lines.push([row])
  }
  return lines
}

/** Whether rows are the line after `previous`, or one that acknowledges a loss after an earlier one. */
const continues = async (
  { journalMac, logs }: RowsDeps,
  previous: string,
  rows: readonly [LogRow, ...LogRow[]],
): Promise<boolean> => {
  const [{ journal, hash }] = rows
  const { journal_seq: seq } = rows.at(-1)!
  const mac = journalMac(journal)
  if (hashOf(mac, previous, seq, rows) === hash) return true
  const behind = lossContinuesAfter(rows[0])
  if (behind === undefined) return false
  const [row] = behind === 0 ? [] : await logs.rows(journal, behind - 1, 1)
  return hashOf(mac, row?.hash ?? genesis(mac, journal), seq, rows) === hash
}

const verifyJournal = async (deps: RowsDeps, name: string, options: RowsOptions): Promise<RowReport> => {
  const { logs } = deps
  // Read before the rows: an active journal may only be ahead of it.
  const position = await logs.position(name)
  const known = new Map(
    [...(position ? [position] : []), ...(options.heads ?? []).filter(({ journal }) => journal === name)].map(
      ({ seq, hash }) => [seq, hash],
    ),
  )
  const last = Math.max(0, ...known.keys())
  let hash = genesis(deps.journalMac(name), name)
  let seq = 0
  const report = (reason: string): RowReport => ({ name, rows: seq, issue: { seq: seq + 1, reason } })
  for (;;) {
    const rows = await logs.rows(name, seq, BATCH)
    const lines = linesOf(rows)
    // The last line of a full batch may continue in the next one.
    const complete = rows.length < BATCH ? lines : lines.slice(0, -1)
    if (complete.length < lines.length && complete.length === 0) return report('the row was altered')
    for (const line of complete) {
      if (line.some(({ journal_seq }, index) => journal_seq !== seq + 1 + index))
        return report('the row is missing')
      if (!(await continues(deps, hash, line))) return report('the row was altered')
      if (line.some((row) => (known.get(row.journal_seq) ?? row.hash) !== row.hash))
        return report('the row is not the known last record')
      hash = line[0].hash
      seq += line.length
    }
    if (rows.length < BATCH) break
    await delay(options.pauseMs ?? 0, undefined, { ...(options.signal ? { signal: options.signal } : {}) })
  }
  if (seq < last) return report(`the rows end here, but record ${last} is known`)
  if (seq > 0 && position === undefined && (await logs.position(name)) === undefined)
    return report('the store has rows of the journal, but no position of it')
  return { name, rows: seq }
}

/**
 * Recomputes the hash chain of every journal from the rows of `logs` alone (README.md, "Rows"). Finds each edit, gap,
 * insertion and truncation, also without the files; rows and position truncated together only by a head logged earlier.
 * Reports the first issue of each journal; rejects only when the store cannot be read.
 */
export const verifyRows = async (
  deps: RowsDeps,
  options: RowsOptions = {},
): Promise<readonly RowReport[]> => {
  const { logs } = deps
  const heads = (options.heads ?? []).map(({ journal }) => journal)
  const names = new Set([...(await logs.journals()), ...(await logs.rowJournals()), ...heads])
  const reports: RowReport[] = []
  for (const name of [...names].sort()) reports.push(await verifyJournal(deps, name, options))
  return reports
}
