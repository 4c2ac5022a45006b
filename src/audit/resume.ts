import { open } from 'node:fs/promises'
import type { LogStore } from '../store/types.ts'
import { isAcceptance } from './accepted.ts'
import { type ChainFault, type ChainPlace, gapIn, nextPiece } from './chain-reader.ts'
import { claimedHash, claimedSeq, genesis, type Mac } from './line.ts'
import { readLines, type Segment } from './segments.ts'

const BATCH = 250

/** `seq`: the last record that is known. */
export const allMissing = (name: string, seq: number): ChainFault => ({
  file: `${name}.*.jsonl`,
  line: 0,
  seq,
  reason: 'all files of the journal are missing',
})

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
export const resume = async (
  { logs, mac }: { readonly logs: Pick<LogStore, 'position'>; readonly mac: Mac },
  name: string,
  segments: readonly Segment[],
): Promise<ChainPlace | ChainFault> => {
  const start = { segment: 1, offset: 0, line: 0, seq: 0, hash: genesis(mac, name) }
  const position = await logs.position(name)
  const newest = segments.at(-1)
  if (newest === undefined) return position === undefined ? start : allMissing(name, position.seq)
  const gap = gapIn(segments, start)
  if (gap !== undefined) return gap
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
      file: newest.file,
      line: 0,
      seq: position.seq,
      reason: 'the record that was ingested last is missing',
    }
  )
}
