import { closeSync, ftruncateSync } from 'node:fs'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import { follows } from './accepted.ts'
import { ChainFile, createSegment, openSegment } from './chain-file.ts'
import { claimedHash, claimedSeq, genesis, type Mac, readLine } from './line.ts'
import { listSegments, readTail, type Segment, segmentOf } from './segments.ts'

/** A journal that can be continued. `seq` and `hash` are those of its last record; 0 and the genesis when it has none. */
export interface Recovered {
  readonly file: ChainFile
  readonly seq: number
  readonly hash: string
}

const brokenEnd = (segment: Segment): AppError =>
  new AppError(
    'unavailable',
    `The last record of the audit journal's file "${segment.file}" is not as it was written. Run "sidevault audit verify", and restore the file; if that cannot be done, "sidevault audit accept-loss --journal ${segment.name}" keeps the damaged part as evidence and lets the service start.`,
  )

/** The last record of the chain, verified; segments without a line, which a crash may leave, are passed over. */
const lastRecord = async (
  mac: Mac,
  segments: readonly Segment[],
): Promise<{ readonly seq: number; readonly hash: string } | undefined> => {
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index]!
    const { last, before } = await readTail(segment)
    if (last === undefined) continue
    let previous = before
    for (let earlier = index - 1; previous === undefined && earlier >= 0; earlier--)
      previous = (await readTail(segments[earlier]!)).last
    const previousHash = previous === undefined ? genesis(mac, segment.name) : claimedHash(previous)
    const line = previousHash === undefined ? undefined : readLine(mac, previousHash, last)
    const previousSeq = previous === undefined ? 0 : (claimedSeq(previous) ?? Number.POSITIVE_INFINITY)
    if (line === undefined || !follows(line, previousSeq)) throw brokenEnd(segment)
    return line
  }
  return undefined
}

/**
 * Finds the end of a journal, cuts off what a torn write left behind the last newline, verifies the last record, and
 * opens the file for more. Rejects with `unavailable` when the last record does not verify.
 */
export const recover = async (
  { mac, log }: { readonly mac: Mac; readonly log: Log },
  directory: string,
  name: string,
  limit: number,
): Promise<Recovered> => {
  const segments = (await listSegments(directory)).get(name) ?? []
  const newest = segments.at(-1)
  if (newest === undefined) {
    const segment = segmentOf(directory, name, 1)
    const file = new ChainFile(segment, createSegment(segment), 0, limit)
    return { file, seq: 0, hash: genesis(mac, name) }
  }
  const last = await lastRecord(mac, segments)
  const { end, size } = await readTail(newest)
  const fd = openSegment(newest)
  try {
    if (end < size) {
      log.warn(
        { journal: name, file: newest.file, bytes: size - end },
        'audit journal ended in half a line, from a write that was cut short: removed',
      )
      ftruncateSync(fd, end)
    }
    return {
      file: new ChainFile(newest, fd, end, limit),
      seq: last?.seq ?? 0,
      hash: last?.hash ?? genesis(mac, name),
    }
  } catch (thrown) {
    closeSync(fd)
    throw thrown
  }
}
