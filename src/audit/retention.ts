import { stat, unlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { isLossLine } from './acknowledged-loss.ts'
import { type ChainError, nextPiece } from './chain-reader.ts'
import { type Checkpoint, writeCheckpoint } from './checkpoint.ts'
import type { Ingest } from './ingest.ts'
import type { Mac } from './line.ts'
import { type RetainedChain, readRetainedChain } from './retained-chain.ts'
import { lockForRemoval } from './retention-lock.ts'
import { listSegments, type Segment } from './segments.ts'

const POLL = 60_000
/** Lines verified before other work gets a turn. */
const BATCH = 250
/** ms between removals, so that readers get the lock. */
const PAUSE = 50

/** Retention of ingested records in files, which go once either limit is exceeded. `Infinity`: no limit. */
export interface RetentionLimits {
  /** ms since the last record of a file. */
  readonly ageMs: number
  /** Bytes of all files together. */
  readonly bytes: number
}

export interface RetentionDeps {
  readonly mac: Mac
  readonly ingest: Pick<Ingest, 'reached'>
  readonly clock: Clock
  readonly log: Log
}

interface RetentionOptions {
  readonly directory: string
  readonly limits: RetentionLimits
  /** Called when a file due for removal does not verify. */
  readonly onBroken?: (journal: string, issue: ChainError) => void
}

interface Retention {
  /** Removes due files; returns their number. Removes none while others read them. */
  run(): Promise<number>
  /** Runs each minute until stopped; failures are logged. Does not keep the process alive. */
  start(): void
  /** Waits for the current removal. */
  stop(): Promise<void>
  /** Applies limits from the next file. */
  apply(limits: RetentionLimits): void
  /** Journals with a file that does not verify. Each is logged and excluded from removal until a restart. */
  readonly issues: number
}

interface SizedSegment extends Segment {
  readonly bytes: number
  /** ms */
  readonly writtenAt: number
}

const sized = async (segment: Segment): Promise<SizedSegment> => {
  const { size, mtimeMs } = await stat(segment.path)
  return { ...segment, bytes: size, writtenAt: mtimeMs }
}

/** Files due for removal, oldest first, in the order of each journal. */
const due = (
  journals: readonly (readonly SizedSegment[])[],
  total: number,
  { ageMs, bytes }: RetentionLimits,
  now: number,
): readonly SizedSegment[] => {
  const queues = journals.filter(({ length }) => length > 0).map((files) => [...files])
  const removable: SizedSegment[] = []
  let left = total
  for (;;) {
    const [queue] = queues.filter(({ length }) => length > 0).sort(([a], [b]) => a!.writtenAt - b!.writtenAt)
    const file = queue?.[0]
    if (file === undefined || (file.writtenAt > now - ageMs && left <= bytes)) return removable
    queue!.shift()
    left -= file.bytes
    removable.push(file)
  }
}

/** Checkpoint that replaces all files up to `segment`, if they and the following line verify. */
const checkpointAt = async (
  mac: Mac,
  { segments, start, checkpoint }: RetainedChain,
  segment: number,
  now: number,
): Promise<Checkpoint | ChainError> => {
  let place = start
  let losses = checkpoint?.losses ?? 0
  for (;;) {
    const piece = await nextPiece(mac, segments, place, BATCH)
    if (piece.lines.length > 0 && piece.place.segment > segment)
      return { segment, seq: place.seq, hash: place.hash, losses, since: checkpoint?.since ?? now, at: now }
    if (piece.issue !== undefined) return piece.issue
    if (piece.lines.length === 0)
      return {
        file: segments.at(-1)!.file,
        line: place.line,
        seq: place.seq,
        reason: 'the journal ends here',
      }
    losses += piece.lines.filter(isLossLine).length
    place = piece.place
  }
}

/**
 * Removes journal files whose records are all in the store, when they are old or take too much space. A checkpoint
 * under the chain's key replaces them, so that the rest still verifies and no other file can be missing. A file is
 * verified before its removal: an altered one stays as evidence. The newest file of a journal always stays. One process
 * of a directory does this, beside its ingest.
 */
export const createRetention = (deps: RetentionDeps, options: RetentionOptions): Retention => {
  const { mac, ingest, clock, log } = deps
  const { directory } = options
  const broken = new Set<string>()
  let { limits } = options

  const reject = (journal: string, issue: ChainError): void => {
    broken.add(journal)
    log.error(
      { journal, ...issue },
      'audit journal is corrupt: removing no files of it; run "sidevault audit verify"',
    )
    options.onBroken?.(journal, issue)
  }

  const planned = async (): Promise<readonly SizedSegment[]> => {
    let total = 0
    const journals: SizedSegment[][] = []
    for (const [name, segments] of listSegments(directory)) {
      const files = await Promise.all(segments.map(sized))
      for (const { bytes } of files) total += bytes
      const reached = broken.has(name) ? 0 : (ingest.reached(name) ?? 0)
      journals.push(files.slice(0, -1).filter(({ number }) => number < reached))
    }
    return due(journals, total, limits, clock.now())
  }

  /** In this order: after a crash the checkpoint counts the file as removed, or nothing has changed. */
  const remove = async ({ name, number, file, path, bytes }: SizedSegment): Promise<boolean> => {
    const retained = await readRetainedChain(mac, directory, name)
    if (retained.issue !== undefined) {
      reject(name, retained.issue)
      return false
    }
    if (number >= retained.start.segment) {
      const checkpoint = await checkpointAt(mac, retained, number, clock.now())
      if ('reason' in checkpoint) {
        reject(name, checkpoint)
        return false
      }
      await writeCheckpoint(mac, directory, name, checkpoint)
      log.info(
        { journal: name, file, bytes, upTo: checkpoint.seq },
        'audit journal file removed; the store has its records',
      )
    }
    await unlink(path)
    return true
  }

  let stopping: AbortController | undefined
  const run = async (): Promise<number> => {
    let count = 0
    for (const file of await planned()) {
      if (broken.has(file.name)) continue
      const unlock = lockForRemoval(directory)
      if (unlock === undefined) break
      try {
        if (await remove(file)) count++
      } finally {
        unlock()
      }
      if (stopping?.signal.aborted) break
      await delay(PAUSE)
    }
    return count
  }

  let loop: Promise<void> = Promise.resolve()
  const runAlways = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await run().catch((err: unknown) => log.error({ err }, 'audit journal retention failed; retrying'))
      await delay(POLL, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  return {
    run,
    start: () => {
      if (stopping !== undefined) return
      stopping = new AbortController()
      loop = runAlways(stopping.signal)
    },
    stop: async () => {
      stopping?.abort()
      await loop
      stopping = undefined
    },
    apply: (next) => {
      limits = next
    },
    get issues() {
      return broken.size
    },
  }
}
