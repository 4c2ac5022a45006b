import { type FileHandle, open } from 'node:fs/promises'
import { follows } from './acknowledged-loss.ts'
import { type ChainLine, type Mac, readLine } from './line.ts'
import type { RecentLinesCache } from './recent-lines-cache.ts'
import { readLines, type Segment } from './segments.ts'

/** Where a chain differs from what was written. `line` counts from 1 in the file; `seq` is the expected record. */
export interface ChainError {
  readonly file: string
  readonly line: number
  readonly seq: number
  readonly reason: string
}

/** A position in a chain: after `seq`, whose hash is `hash`, at a byte of a segment. */
export interface ChainPosition {
  readonly segment: number
  readonly offset: number
  readonly line: number
  readonly seq: number
  readonly hash: string
}

export interface ChainPiece {
  readonly lines: readonly ChainLine[]
  readonly place: ChainPosition
  readonly issue?: ChainError
  /** Bytes of an unfinished line at the end of the chain. */
  readonly rest: number
  /** False when nothing followed these lines in the chain at the time of the read. */
  readonly more: boolean
}

const errorAt = (place: ChainPosition, file: string, reason: string): ChainError => ({
  file,
  line: place.line + 1,
  seq: place.seq + 1,
  reason,
})

/** Segment numbers continue from `place` without a gap; the issue names the first missing file. */
export const gapIn = (segments: readonly Segment[], place: ChainPosition): ChainError | undefined => {
  for (const [index, { number, file }] of segments.entries()) {
    const expected = place.segment + index
    if (number !== expected)
      return { file, line: 1, seq: place.seq + 1, reason: `the file numbered ${expected} is missing` }
  }
  return undefined
}

/** Verifies `lines` from `place`; stops at the first line that does not continue the chain. */
const follow = (
  mac: Mac,
  file: string,
  from: ChainPosition,
  lines: readonly Buffer[],
  limit: number,
  own: RecentLinesCache | undefined,
): { readonly read: readonly ChainLine[]; readonly place: ChainPosition; readonly issue?: ChainError } => {
  const read: ChainLine[] = []
  let place = from
  let records = 0
  for (const bytes of lines) {
    if (records >= limit) break
    const line = own?.read(place.hash, bytes) ?? readLine(mac, place.hash, bytes)
    if (line === undefined) return { read, place, issue: errorAt(place, file, 'the line was altered') }
    if (!follows(line, place.seq))
      return { read, place, issue: errorAt(place, file, 'the sequence number does not follow') }
    read.push(line)
    records += line.records.length
    place = {
      segment: place.segment,
      offset: place.offset + bytes.length + 1,
      line: place.line + 1,
      seq: line.seq,
      hash: line.hash,
    }
  }
  return { read, place }
}

/**
 * The next verified lines after `place`, up to the one with record number `limit` and at most a chunk of one file; none
 * at the end of the chain.
 * `settle` is called with the open file before its lines are returned (to sync it). Lines of `own` need no
 * verification.
 */
export const nextPiece = async (
  mac: Mac,
  segments: readonly Segment[],
  from: ChainPosition,
  limit: number,
  settle: (file: FileHandle) => Promise<void> = async () => {},
  own?: RecentLinesCache,
): Promise<ChainPiece> => {
  let place = from
  for (;;) {
    const segment = segments.find(({ number }) => number === place.segment)
    if (segment === undefined)
      return {
        lines: [],
        place,
        rest: 0,
        more: false,
        issue: errorAt(place, `number ${place.segment}`, 'the file is missing'),
      }
    const file = await open(segment.path, 'r')
    try {
      const { lines, rest, more } = await readLines(file, place.offset)
      const { read, place: after, issue } = follow(mac, segment.file, place, lines, limit, own)
      if (issue !== undefined || read.length > 0) {
        if (read.length > 0) await settle(file)
        return {
          lines: read,
          place: after,
          rest: 0,
          more: more || read.length < lines.length || segment !== segments.at(-1),
          ...(issue === undefined ? {} : { issue }),
        }
      }
      if (segment === segments.at(-1)) {
        const { size } = await file.stat()
        return size < place.offset
          ? {
              lines: [],
              place,
              rest: 0,
              more: false,
              issue: errorAt(place, segment.file, 'the file was truncated'),
            }
          : { lines: [], place, rest, more: false }
      }
      // A later file exists, so this one had its last line before the listing.
      if (rest > 0)
        return {
          lines: [],
          place,
          rest,
          more: false,
          issue: errorAt(place, segment.file, 'the last line is incomplete'),
        }
    } finally {
      await file.close()
    }
    place = { ...place, segment: place.segment + 1, offset: 0, line: 0 }
  }
}
