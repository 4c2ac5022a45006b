/** Bodies in parts: replacements in the arrived part. Pure, as rewrite.ts is for complete bodies. */

import { codingsOf } from '../../common/decode-content.ts'
import { AppError } from '../../common/errors.ts'
import { yieldIfDue } from '../../common/event-loop.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { BodyLimits } from './limits.ts'
import { type Occurrence, SLICE, shifted } from './plan.ts'
import { lenient, type Scanned, type Scanner } from './scanner.ts'
import { scannerOf } from './scanner-of.ts'

/** A stretch of a body, and what of it is to be replaced. */
export interface Part {
  readonly bytes: Buffer
  readonly occurrences: readonly Occurrence[]
}

/** Takes one body in parts, in order; the parts it gives are, put together, what came. */
export interface PartReader {
  /** Encoding of the replacements. */
  readonly encoding: 'utf8' | 'latin1'
  /** Throws `invalid_expression`, `malformed` and `too_large`. */
  push(bytes: Buffer, isLast: boolean): Part
}

const NOTHING: Scanned = { end: 0, occurrences: [] }

const PASSES: Scanner = {
  encoding: 'latin1',
  mayHold: () => false,
  scan: ({ length }) => ({ end: length, occurrences: [] }),
}

/** Nothing is scanned again before there is as much again: small parts cost no more than large ones. */
const holding = (scanner: Scanner): PartReader => {
  let held: Buffer[] = []
  let size = 0
  let enough = 0
  return {
    encoding: scanner.encoding,
    push(bytes, isLast) {
      held.push(bytes)
      size += bytes.length
      const isEnough = isLast || size >= enough
      const all = isEnough && held.length > 1 ? Buffer.concat(held, size) : bytes
      const { end, occurrences } = isEnough ? scanner.scan(all, isLast) : NOTHING
      if (isEnough) {
        held = end === all.length ? [] : [all.subarray(end)]
        size = all.length - end
        enough = 2 * size
      }
      return { bytes: all.subarray(0, end), occurrences }
    },
  }
}

const unreadable = (what: string) =>
  new AppError('unsupported_media_type', `${what} cannot be streamed. Send the body without streaming.`)

/**
 * Reads a body of these headers in parts (completions §6). Throws `unsupported_media_type` for what only a complete
 * body shows: that one without a content type is text, or what a compressed one holds; `malformed` for several content
 * types.
 */
export const createPartReader = (
  contentType: string | undefined,
  contentEncoding: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): PartReader => {
  const codings = codingsOf(contentEncoding)
  if (codings === undefined) return holding(PASSES)
  if (contentType === undefined || contentType.trim() === '')
    throw unreadable('A body without a content type')
  const scanner = scannerOf(contentType, expressions, { ...limits, longest: limits.heldBytes })
  if (scanner === undefined) return holding(PASSES)
  if (codings.length > 0) throw unreadable('A compressed body that may hold expressions')
  return holding(lenient(scanner))
}

/** Parts one after the other, with pauses for other work. */
export const readPart = async (reader: PartReader, bytes: Buffer, isLast: boolean): Promise<Part> => {
  const read: Buffer[] = []
  const occurrences: Occurrence[] = []
  let size = 0
  for (let at = 0; at === 0 || at < bytes.length; at += SLICE) {
    const pause = at > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    const part = reader.push(bytes.subarray(at, at + SLICE), isLast && at + SLICE >= bytes.length)
    for (const occurrence of part.occurrences) occurrences.push(shifted(occurrence, size))
    read.push(part.bytes)
    size += part.bytes.length
  }
  return { bytes: read.length === 1 ? (read[0] as Buffer) : Buffer.concat(read, size), occurrences }
}
