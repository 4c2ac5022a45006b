import { open } from 'node:fs/promises'
import type { LogStore } from '../store/logs/types.ts'
import { isLossLine } from './acknowledged-loss.ts'
import { type ChainError, type ChainPosition, nextPiece } from './chain-reader.ts'
import { CHECKPOINT } from './checkpoint.ts'
import { claimedHash, claimedSeq, type Mac } from './line.ts'
import { readRetainedChain } from './retained-chain.ts'
import { readLines, type Segment } from './segments.ts'

const BATCH = 250

/** A position in the files of a journal, and these files. */
interface LocatedPosition {
  readonly place: ChainPosition
  readonly segments: readonly Segment[]
}

/** `seq`: the last known record. */
export const allMissing = (name: string, seq: number): ChainError => ({
  file: `${name}.*.jsonl`,
  line: 0,
  seq,
  reason: 'all files of the journal are missing',
})

/** The checkpoint is newer than the store: the store was restored from an older state. */
export const missingInStore = (name: string, known: number, removed: number): ChainError => ({
  file: name + CHECKPOINT,
  line: 1,
  seq: known + 1,
  reason: `records up to ${removed} were removed once the store had them, but it knows those up to ${known} only`,
})

/** A position shortly before the record that acknowledges the loss of record `seq`, if there is one. */
const beforeLossRecord = async (
  mac: Mac,
  segments: readonly Segment[],
  start: ChainPosition,
  seq: number,
): Promise<ChainPosition | undefined> => {
  let place = start
  for (;;) {
    const piece = await nextPiece(mac, segments, place, BATCH)
    if (piece.lines.some((line) => line.seq > seq && isLossLine(line))) return place
    if (piece.lines.length === 0) return undefined
    place = piece.place
  }
}

/** After the line that states record `seq`, searched from the end. Undefined when there is none. */
const placeOf = async (
  segments: readonly Segment[],
  { seq, hash }: { readonly seq: number; readonly hash: string },
): Promise<ChainPosition | ChainError | undefined> => {
  for (const segment of segments.toReversed()) {
    const file = await open(segment.path, 'r')
    try {
      let offset = 0
      let count = 0
      for (;;) {
        const { lines, next } = await readLines(file, offset)
        const first = lines[0]
        if (first === undefined) break
        if (offset === 0 && (claimedSeq(first) ?? Number.POSITIVE_INFINITY) > seq) break
        for (const line of lines) {
          offset += line.length + 1
          count++
          if (claimedSeq(line) !== seq) continue
          if (claimedHash(line) === hash) return { segment: segment.number, offset, line: count, seq, hash }
          return {
            file: segment.file,
            line: count,
            seq,
            reason: 'the record is not the one that was ingested',
          }
        }
        offset = next
      }
    } finally {
      await file.close()
    }
  }
  return undefined
}

/**
 * Position after the store's last record, or the reason why there is none. Earlier lines are not verified again. The
 * journal may be written, ingested and shortened concurrently.
 */
export const locatePosition = async (
  deps: { readonly logs: Pick<LogStore, 'position'>; readonly mac: Mac },
  directory: string,
  name: string,
): Promise<LocatedPosition | ChainError> => {
  const { logs, mac } = deps
  // Read before the files are listed: another process may ingest later files concurrently.
  const position = await logs.position(name)
  const known = position?.seq ?? 0
  const { segments, checkpoint, start, issue } = await readRetainedChain(mac, directory, name)
  const newest = segments.at(-1)
  if (newest === undefined)
    return position === undefined && checkpoint === undefined && issue === undefined
      ? { place: start, segments }
      : (issue ?? allMissing(name, known))
  if (issue !== undefined) return issue
  const lossRecord = () => beforeLossRecord(mac, segments, start, known)
  if (checkpoint !== undefined && checkpoint.seq > known) {
    if (((await logs.position(name))?.seq ?? 0) >= checkpoint.seq)
      return locatePosition(deps, directory, name)
    return (await lossRecord()) === undefined
      ? missingInStore(name, known, checkpoint.seq)
      : { place: start, segments }
  }
  if (position === undefined || position.hash === checkpoint?.hash) return { place: start, segments }
  const place = (await placeOf(segments, position)) ?? (await lossRecord())
  if (place === undefined)
    return {
      file: newest.file,
      line: 0,
      seq: known,
      reason: 'the record that was ingested last is missing',
    }
  return 'reason' in place ? place : { place, segments }
}
