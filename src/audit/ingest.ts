import { statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock, untilNext } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import type { Forked, LogRow, LogStore } from '../store/logs/types.ts'
import { sealSegment } from './chain-file.ts'
import { type ChainError, type ChainPiece, type ChainPosition, nextPiece } from './chain-reader.ts'
import { type ChainLine, firstSeqOf, type Mac } from './line.ts'
import { allMissing, locatePosition } from './locate-position.ts'
import type { RecentLinesCache } from './recent-lines-cache.ts'
import { listSegments, type Segment } from './segments.ts'

/** Records verified before other work gets a turn: some 2 ms. */
const BATCH = 250
/** Records that are stored together, about; on SQLite in slices (src/store/logs/slices.ts). */
const GROUP = 1_000
const POLL = 200

interface IngestDeps {
  readonly logs: LogStore
  readonly mac: Mac
  readonly log: Log
  /** Lines that this process wrote into its own journal. */
  readonly own?: RecentLinesCache
  /** Default: the system's. */
  readonly clock?: Clock
}

interface IngestOptions {
  readonly directory: string
  /** Called when a journal is found corrupt. */
  readonly onBroken?: (journal: string, issue: ChainError) => void
}

export interface Ingest {
  /** Ingests everything written to the journals before the call; returns the number of records. */
  catchUp(): Promise<number>
  /**
   * Ingests every 200 ms until stopped; failures are logged (throttled) and retried. Does not keep the process alive.
   */
  start(): void
  /** Waits for the current round. */
  stop(): Promise<void>
  /** Journals found corrupt since the start. Each is logged, and not ingested further until a restart. */
  readonly issues: number
  /** Number of the file of a journal that this process has read to: the store has all records before it. */
  reached(journal: string): number | undefined
  /** ms for which records have waited, at most: since the furthest behind journal was last read to its end. */
  behind(): number
}

/** Rows of a line: one for each record, each with the hash of the line. */
const rowsOf = (journal: string, line: ChainLine): readonly LogRow[] =>
  line.records.map((record, index) => ({
    ...record,
    journal,
    journal_seq: firstSeqOf(line) + index,
    hash: line.hash,
  }))

/** Position of a record whose number the store has another record under. */
const forkAt = (segments: readonly Segment[], pieces: readonly ChainPiece[], fork: Forked): ChainError => {
  const { lines, place } = pieces.find((piece) => piece.place.seq >= fork.journal_seq)!
  return {
    file: segments.find(({ number }) => number === place.segment)!.file,
    line: place.line - lines.filter((line) => firstSeqOf(line) > fork.journal_seq).length,
    seq: fork.journal_seq,
    reason:
      'the store has another record under this number; a copy of this data directory may be in use elsewhere',
  }
}

/** True when a journal ends at the last position: the usual result of a poll, for one system call. */
const idle = (segments: readonly Segment[], place: ChainPosition): boolean => {
  const newest = segments.at(-1)
  return newest?.number === place.segment && statSync(newest.path).size === place.offset
}

/**
 * Ingests the journals of all processes into the logs table (docs/security-model.md, "Audit before disclosure") and
 * verifies their chains: lines that do not verify are logged and never ingested. Idempotent by journal and sequence
 * number: any number of processes may ingest, and any may crash. Each part of a journal is synced before it is
 * ingested, so that after a power loss the store has no records that the journal lost.
 */
export const createIngest = (deps: IngestDeps, options: IngestOptions): Ingest => {
  const { logs, mac, log, own, clock = systemClock } = deps
  const places = new Map<string, ChainPosition>()
  const broken = new Map<string, ChainError>()
  const forked = new Set<string>()
  /** ms: when the store last had each journal up to its end. */
  const completeAt = new Map<string, number>()

  const reject = (journal: string, issue: ChainError): void => {
    broken.set(journal, issue)
    places.delete(journal)
    log.error(
      { journal, ...issue },
      'audit journal is broken: ingesting nothing more of it; run "sidevault audit verify"',
    )
    options.onBroken?.(journal, issue)
  }

  /**
   * Stops the writer, which cannot notice by itself, through the file; repeated in each round, since it may have
   * started a new one.
   */
  const stopWriter = (name: string, newest: Segment): void => {
    sealSegment(newest)
    forked.add(name)
  }

  /** The next pieces of a journal, until they have the rows of one write. */
  const readGroup = async (segments: readonly Segment[], from: ChainPosition) => {
    const pieces: ChainPiece[] = []
    const rows: LogRow[] = []
    for (let place = from; ; ) {
      const piece = await nextPiece(mac, segments, place, BATCH, (file) => file.datasync(), own).catch(
        (thrown: unknown) => {
          if (rows.length === 0) throw thrown
        },
      )
      // Records before an unreadable file are ingested first.
      if (piece === undefined) return { pieces, rows }
      pieces.push(piece)
      for (const line of piece.lines) rows.push(...rowsOf(segments[0]!.name, line))
      if (rows.length >= GROUP || piece.issue !== undefined || !piece.more) return { pieces, rows }
      place = piece.place
    }
  }

  const ingestJournal = async (name: string, listed: readonly Segment[]): Promise<number> => {
    let segments = listed
    let place = places.get(name)
    // Another process that has read further removes earlier files.
    if (place === undefined || place.segment < segments[0]!.number) {
      const resumed = await locatePosition(deps, options.directory, name)
      if ('reason' in resumed) {
        reject(name, resumed)
        return 0
      }
      place = resumed.place
      segments = resumed.segments
    } else if (idle(segments, place)) return 0
    let count = 0
    for (;;) {
      const { pieces, rows } = await readGroup(segments, place)
      const { place: after, issue, more } = pieces.at(-1)!
      const fork = rows.length === 0 ? undefined : await logs.ingest(rows)
      if (fork !== undefined) {
        stopWriter(name, segments.at(-1)!)
        reject(name, forkAt(segments, pieces, fork))
        return count
      }
      count += rows.length
      place = after
      places.set(name, place)
      if (issue !== undefined) reject(name, issue)
      // Lines written during the round belong to the next one: otherwise a busy journal would be followed record by
      // record.
      if (issue !== undefined || !more) return count
    }
  }

  const round = async (): Promise<number> => {
    const began = clock.now()
    const journals = listSegments(options.directory)
    let count = 0
    const failures: unknown[] = []
    for (const [name, segments] of journals) {
      if (!completeAt.has(name)) completeAt.set(name, began)
      try {
        if (forked.has(name)) stopWriter(name, segments.at(-1)!)
        if (broken.has(name)) continue
        count += await ingestJournal(name, segments)
        if (!broken.has(name)) completeAt.set(name, began)
      } catch (thrown) {
        // An unreadable journal must not block the others.
        failures.push(thrown)
      }
    }
    for (const name of places.keys()) {
      if (journals.has(name)) continue
      reject(name, allMissing(name, places.get(name)!.seq))
    }
    if (failures.length > 0) throw failures[0]
    return count
  }

  let running: Promise<unknown> = Promise.resolve()
  let queued: Promise<number> | undefined
  /** A running round may have passed the caller's records; the next one serves all waiting callers. */
  const catchUp = (): Promise<number> => {
    if (queued === undefined) {
      const begin = () => {
        queued = undefined
        return round()
      }
      queued = running.then(begin, begin)
      running = queued
    }
    return queued
  }

  const throttle = createLogThrottle()
  let stopping: AbortController | undefined
  let loop: Promise<void> = Promise.resolve()
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await catchUp().catch((err: unknown) => {
        const suppressed = throttle('round')
        if (suppressed !== undefined)
          log.error({ err, ...(suppressed > 0 ? { suppressed } : {}) }, 'audit ingest failed; retrying')
      })
      await delay(untilNext(POLL), undefined, { ref: false, signal }).catch(() => {})
    }
  }

  return {
    catchUp,
    start: () => {
      if (stopping !== undefined) return
      stopping = new AbortController()
      loop = run(stopping.signal)
    },
    stop: async () => {
      stopping?.abort()
      stopping = undefined
      await loop
    },
    get issues() {
      return broken.size
    },
    reached: (journal) => places.get(journal)?.segment,
    behind: () =>
      stopping === undefined ? 0 : Math.max(0, clock.now() - Math.min(clock.now(), ...completeAt.values())),
  }
}
