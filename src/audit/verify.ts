import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogStore } from '../store/types.ts'
import { type ChainFault, type ChainPlace, gapIn, nextPiece } from './chain-reader.ts'
import { genesis, type Mac } from './line.ts'
import { JOURNAL_NAME, listSegments, type Segment } from './segments.ts'

const BATCH = 1000
/** A line being written right now has this long to be finished (ms, times). */
const PATIENCE = { wait: 20, times: 10 } as const

export interface VerifyDeps {
  readonly mac: Mac
  /** The store's memory of the journals: without it a cut at the end of a journal cannot be seen. */
  readonly logs?: LogStore
}

export interface JournalReport {
  readonly name: string
  /** Records that verify, up to the first fault. */
  readonly records: number
  readonly fault?: ChainFault
}

export interface AuditReport {
  readonly ok: boolean
  readonly journals: readonly JournalReport[]
}

type Position = { readonly seq: number; readonly hash: string } | undefined

/** Walks a chain to its end. `position` was read before, so a journal at work may only be further. */
const walk = async (
  mac: Mac,
  name: string,
  segments: readonly Segment[],
  position: Position,
): Promise<JournalReport> => {
  let place: ChainPlace = { segment: 1, offset: 0, line: 0, seq: 0, hash: genesis(mac, name) }
  let patience: number = PATIENCE.times
  const end = segments.at(-1)?.file ?? `${name}.*.jsonl`
  const report = (fault?: ChainFault): JournalReport => ({
    name,
    records: place.seq,
    ...(fault === undefined ? {} : { fault }),
  })
  const here = (reason: string): ChainFault => ({
    file: end,
    line: place.line + 1,
    seq: place.seq + 1,
    reason,
  })
  if (segments.length === 0)
    return position === undefined
      ? report()
      : report({ file: end, line: 0, seq: 1, reason: 'all files of the journal are missing' })
  const gap = gapIn(segments, place)
  if (gap !== undefined) return report(gap)
  for (;;) {
    const piece = await nextPiece(mac, segments, place, BATCH)
    const known = piece.lines.find(({ seq }) => seq === position?.seq)
    if (known !== undefined && known.hash !== position?.hash) {
      const index = piece.lines.indexOf(known)
      const fault = {
        file: segments.find(({ number }) => number === piece.place.segment)!.file,
        line: piece.place.line - (piece.lines.length - 1 - index),
        seq: known.seq,
        reason: 'the record is not the one that was ingested',
      }
      return { name, records: known.seq - 1, fault }
    }
    place = piece.place
    if (piece.fault !== undefined) return report(piece.fault)
    if (piece.lines.length > 0) continue
    if (piece.rest > 0 && patience-- > 0) {
      await delay(PATIENCE.wait)
      continue
    }
    if (piece.rest > 0) return report(here('the last line is not finished'))
    if (position !== undefined && place.seq < position.seq)
      return report(here(`the journal ends here, but record ${position.seq} was ingested from it`))
    return report()
  }
}

/** Journals with files, with a lock (so they had files once), and those the store remembers. */
const journalNames = async (directory: string, deps: VerifyDeps): Promise<readonly string[]> => {
  const names = new Set((await listSegments(directory)).keys())
  const files = await readdir(directory).catch((): string[] => [])
  for (const file of files) {
    const name = file.endsWith('.lock') ? file.slice(0, -'.lock'.length) : ''
    if (JOURNAL_NAME.test(name)) names.add(name)
  }
  for (const name of (await deps.logs?.journals()) ?? []) names.add(name)
  return [...names].sort()
}

/**
 * Verifies every journal of a directory (DESIGN §7.3): each line's hash over the one before, sequence numbers, files
 * without a gap, and that what the store ingested is still there. Finds any edit, insertion, deletion and reordering;
 * a cut at the end as far as the store has the records (ingest lags by at most a fifth of a second). Journals may be
 * written meanwhile. Faults are reported with the first place of each journal; only failures to read reject.
 */
export const verifyJournals = async (deps: VerifyDeps, directory: string): Promise<AuditReport> => {
  const journals: JournalReport[] = []
  for (const name of await journalNames(directory, deps)) {
    const position = await deps.logs?.position(name)
    const segments = (await listSegments(directory)).get(name) ?? []
    journals.push(await walk(deps.mac, name, segments, position))
  }
  return { ok: journals.every(({ fault }) => fault === undefined), journals }
}
