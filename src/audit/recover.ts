import { closeSync, ftruncateSync } from 'node:fs'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import { follows } from './acknowledged-loss.ts'
import { ChainFile, createSegment, openSegment } from './chain-file.ts'
import type { ChainError, ChainPosition } from './chain-reader.ts'
import { claimedHash, claimedSeq, type Mac, readLine } from './line.ts'
import { allMissing } from './locate-position.ts'
import { readRetainedChain } from './retained-chain.ts'
import { readTail, type Segment, segmentOf } from './segments.ts'

/** A journal that can be continued. `seq` and `hash` are those of its last record, or of its start. */
export interface Recovered {
  readonly file: ChainFile
  readonly seq: number
  readonly hash: string
}

const incomplete = (name: string, { file, reason }: ChainError): AppError =>
  new AppError(
    'gateway_timeout',
    `The audit journal "${name}" is incomplete (${file}: ${reason}). Run "sidevault audit verify", and restore its files; if that is impossible, "sidevault audit acknowledge-loss --journal ${name}" retains the rest as evidence and lets the service start.`,
  )

const brokenEnd = (segment: Segment): AppError =>
  new AppError(
    'gateway_timeout',
    `The last record of the audit journal's file "${segment.file}" was altered. Run "sidevault audit verify", and restore the file; if that is impossible, "sidevault audit acknowledge-loss --journal ${segment.name}" retains the damaged part as evidence and lets the service start.`,
  )

/** End of the chain with its record verified; skips segments without a line, which a crash may leave. */
const lastRecord = async (
  mac: Mac,
  segments: readonly Segment[],
  start: ChainPosition,
): Promise<{ readonly seq: number; readonly hash: string }> => {
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index]!
    const { last, before } = await readTail(segment)
    if (last === undefined) continue
    let previous = before
    for (let earlier = index - 1; previous === undefined && earlier >= 0; earlier--)
      previous = (await readTail(segments[earlier]!)).last
    const previousHash = previous === undefined ? start.hash : claimedHash(previous)
    const line = previousHash === undefined ? undefined : readLine(mac, previousHash, last)
    const previousSeq =
      previous === undefined ? start.seq : (claimedSeq(previous) ?? Number.POSITIVE_INFINITY)
    if (line === undefined || !follows(line, previousSeq)) throw brokenEnd(segment)
    return line
  }
  return start
}

/**
 * Finds the end of a journal, truncates a torn write after the last newline, verifies the last record, and opens the
 * file for appending. Rejects with `gateway_timeout` when the last record does not verify.
 */
export const recover = async (
  { mac, log }: { readonly mac: Mac; readonly log: Log },
  directory: string,
  name: string,
  limit: number,
): Promise<Recovered> => {
  const { segments, start, checkpoint, issue } = await readRetainedChain(mac, directory, name)
  if (issue !== undefined) throw incomplete(name, issue)
  const newest = segments.at(-1)
  if (newest === undefined) {
    if (checkpoint !== undefined) throw incomplete(name, allMissing(name, checkpoint.seq))
    const segment = segmentOf(directory, name, start.segment)
    const file = new ChainFile(segment, createSegment(segment), 0, limit)
    return { file, seq: start.seq, hash: start.hash }
  }
  const { seq, hash } = await lastRecord(mac, segments, start)
  const { end, size } = await readTail(newest)
  const fd = openSegment(newest)
  try {
    if (end < size) {
      log.warn(
        { journal: name, file: newest.file, bytes: size - end },
        'audit journal ended in an incomplete line; truncated',
      )
      ftruncateSync(fd, end)
    }
    return { file: new ChainFile(newest, fd, end, limit), seq, hash }
  } catch (thrown) {
    closeSync(fd)
    throw thrown
  }
}
