import { open, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../common/log.ts'
import type { LogStore } from '../store/types.ts'
import { isAcceptance } from './accepted.ts'
import { type ChainFault, type ChainPlace, gapIn, nextPiece } from './chain-reader.ts'
import { claimedHash, claimedSeq, genesis, type Mac } from './line.ts'
import { listSegments, readLines, type Segment } from './segments.ts'

/** Records of one write: callers' writes may wait for it. */
const BATCH = 250
const POLL = 200

export interface IngestDeps {
  readonly logs: LogStore
  readonly mac: Mac
  readonly log: Log
}

export interface Ingest {
  /** Brings everything that was in the journals before the call into the store; how many records that were. */
  catchUp(): Promise<number>
  /** Catches up every 200 ms until stopped; failures are logged and tried again. Keeps no process alive. */
  start(): void
  /** Waits for the round at work. */
  stop(): Promise<void>
  /** Journals found broken since the start. Each is logged, and ingested no further until a restart. */
  readonly faults: number
}

/** A place not far before the record by which the loss of record `seq` was accepted, if it was. */
const beforeAcceptance = async (
  mac: Mac,
  segments: readonly Segment[],
  start: ChainPlace,
  seq: number,
): Promise<ChainPlace | undefined> => {
  let place = start
  for (;;) {
    const piece = await nextPiece(mac, segments, place, BATCH)
    if (piece.lines.some((line) => line.seq > seq && isAcceptance(line))) return place
    if (piece.lines.length === 0) return undefined
    place = piece.place
  }
}

/** The place in the files of what the store has last, or why there is none. Lines before it are not verified again. */
const resume = async (
  { logs, mac }: IngestDeps,
  name: string,
  segments: readonly Segment[],
): Promise<ChainPlace | ChainFault> => {
  const start = { segment: 1, offset: 0, line: 0, seq: 0, hash: genesis(mac, name) }
  const gap = gapIn(segments, start)
  if (gap !== undefined) return gap
  const position = await logs.position(name)
  if (position === undefined) return start
  for (const segment of segments.toReversed()) {
    const file = await open(segment.path, 'r')
    try {
      let offset = 0
      let count = 0
      for (;;) {
        const { lines, next } = await readLines(file, offset)
        const first = lines[0]
        if (first === undefined) break
        if (offset === 0 && (claimedSeq(first) ?? Number.POSITIVE_INFINITY) > position.seq) break
        for (const line of lines) {
          offset += line.length + 1
          count++
          if (claimedSeq(line) !== position.seq) continue
          if (claimedHash(line) === position.hash)
            return { segment: segment.number, offset, line: count, ...position }
          return {
            file: segment.file,
            line: count,
            seq: position.seq,
            reason: 'the record is not the one that was ingested',
          }
        }
        offset = next
      }
    } finally {
      await file.close()
    }
  }
  return (
    (await beforeAcceptance(mac, segments, start, position.seq)) ?? {
      file: segments.at(-1)!.file,
      line: 0,
      seq: position.seq,
      reason: 'the record that was ingested last is missing',
    }
  )
}

/** True when a journal ends where it was read to: the usual answer of a poll, for one system call. */
const idle = async (segments: readonly Segment[], place: ChainPlace): Promise<boolean> => {
  const newest = segments.at(-1)
  return newest?.number === place.segment && (await stat(newest.path)).size === place.offset
}

/**
 * Brings the journals of all processes into the logs table (DESIGN §7.3), verifying their chains on the way: what does
 * not verify is logged and never ingested. Idempotent by journal and sequence number, so any number of processes may
 * do it and any may die in between. A piece of a journal is synced to disk before it is ingested, so that after a power
 * loss the store never knows records that the journal has lost.
 */
export const createIngest = (deps: IngestDeps, options: { readonly directory: string }): Ingest => {
  const { logs, mac, log } = deps
  const places = new Map<string, ChainPlace>()
  const broken = new Map<string, ChainFault>()

  const refuse = (journal: string, fault: ChainFault): void => {
    broken.set(journal, fault)
    places.delete(journal)
    log.error(
      { journal, ...fault },
      'audit journal is broken: ingesting nothing more of it; run "sidevault audit verify"',
    )
  }

  const ingestJournal = async (name: string, segments: readonly Segment[]): Promise<number> => {
    let place = places.get(name)
    if (place === undefined) {
      const resumed = await resume(deps, name, segments)
      if ('reason' in resumed) {
        refuse(name, resumed)
        return 0
      }
      place = resumed
    } else if (await idle(segments, place)) return 0
    let count = 0
    for (;;) {
      const piece = await nextPiece(mac, segments, place, BATCH, (file) => file.datasync())
      if (piece.lines.length > 0)
        await logs.ingest(
          piece.lines.map(({ seq, record, hash }) => ({ ...record, journal: name, journal_seq: seq, hash })),
        )
      count += piece.lines.length
      place = piece.place
      places.set(name, place)
      if (piece.fault !== undefined) refuse(name, piece.fault)
      // What is written meanwhile is the next round's: a busy journal would be followed record by record.
      if (piece.fault !== undefined || !piece.more) return count
    }
  }

  const round = async (): Promise<number> => {
    const journals = await listSegments(options.directory)
    let count = 0
    const failures: unknown[] = []
    for (const [name, segments] of journals) {
      if (broken.has(name)) continue
      try {
        count += await ingestJournal(name, segments)
      } catch (thrown) {
        // One journal that cannot be read must not hold up the others.
        failures.push(thrown)
      }
    }
    for (const name of places.keys()) {
      if (journals.has(name)) continue
      const seq = places.get(name)!.seq
      refuse(name, { file: `${name}.*.jsonl`, line: 0, seq, reason: 'all files of the journal are missing' })
    }
    if (failures.length > 0) throw failures[0]
    return count
  }

  let running: Promise<unknown> = Promise.resolve()
  let queued: Promise<number> | undefined
  /** A round begun before a call may have passed what the caller waits for; one that is yet to begin serves all callers. */
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

  let stopping: AbortController | undefined
  let loop: Promise<void> = Promise.resolve()
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await catchUp().catch((err: unknown) =>
        log.error({ err }, 'audit journals could not be ingested; trying again'),
      )
      await delay(POLL, undefined, { ref: false, signal }).catch(() => {})
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
    get faults() {
      return broken.size
    },
  }
}
