import { readdirSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { MAX_LINE_LENGTH } from './line.ts'

const CHUNK = 262_144
const NEWLINE = 0x0a

/** Names of journals: also names of processes and of files. */
export const JOURNAL_NAME = /^[a-z0-9][a-z0-9_-]{0,49}$/

/** A file of a journal's chain: `<name>.<number>.jsonl`, numbers from 1 without gaps. */
export interface Segment {
  readonly name: string
  readonly number: number
  readonly file: string
  readonly path: string
}

export const segmentOf = (directory: string, name: string, number: number): Segment => {
  const file = `${name}.${String(number).padStart(6, '0')}.jsonl`
  return { name, number, file, path: join(directory, file) }
}

/**
 * Segments of every journal in a directory, in order; none for an absent directory. Skips other files. Synchronous: a
 * call takes some 20 µs, the way to a thread and back 200.
 */
export const listSegments = (directory: string): ReadonlyMap<string, readonly Segment[]> => {
  let files: string[]
  try {
    files = readdirSync(directory)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return new Map()
    throw thrown
  }
  const journals = new Map<string, Segment[]>()
  for (const file of files) {
    const match = /^(.+)\.(\d{6,})\.jsonl$/.exec(file)
    if (match === null || !JOURNAL_NAME.test(match[1]!)) continue
    const segment = segmentOf(directory, match[1]!, Number(match[2]))
    const of = journals.get(segment.name)
    if (of === undefined) journals.set(segment.name, [segment])
    else of.push(segment)
  }
  for (const segments of journals.values()) segments.sort((a, b) => a.number - b.number)
  return journals
}

/** Complete lines of a part of a file, without their newlines. */
interface Lines {
  readonly lines: readonly Buffer[]
  /** Start of the next part: after the last newline. */
  readonly next: number
  /** Bytes after `next` without a newline; only meaningful at the end of the file. */
  readonly rest: number
  /** False when the piece ended where the file did. */
  readonly more: boolean
}

/**
 * Lines from `offset`, as many as fit into one chunk; none at the end of the file, or when the next line is longer than
 * any that a journal writes (a chunk holds several of the longest).
 */
export const readLines = async (file: FileHandle, offset: number): Promise<Lines> => {
  const chunk = Buffer.allocUnsafe(CHUNK)
  const { bytesRead } = await file.read(chunk, 0, CHUNK, offset)
  const lines: Buffer[] = []
  let start = 0
  for (;;) {
    const end = chunk.subarray(0, bytesRead).indexOf(NEWLINE, start)
    if (end === -1) break
    lines.push(chunk.subarray(start, end))
    start = end + 1
  }
  return { lines, next: offset + start, rest: bytesRead - start, more: bytesRead === CHUNK }
}

/** End of a segment: its last two complete lines, their end, and the file size; bytes between are a torn write. */
interface Tail {
  readonly last: Buffer | undefined
  readonly before: Buffer | undefined
  readonly end: number
  readonly size: number
}

const tailOf = (bytes: Buffer, from: number, size: number): Tail | undefined => {
  const isComplete = from === 0
  const end = bytes.lastIndexOf(NEWLINE)
  if (end === -1) return isComplete ? { last: undefined, before: undefined, end: 0, size } : undefined
  const start = end === 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1)
  if (start === -1 && !isComplete) return undefined
  const last = bytes.subarray(start + 1, end)
  if (start === -1) return { last, before: undefined, end: end + 1, size }
  const earlier = start === 0 ? -1 : bytes.lastIndexOf(NEWLINE, start - 1)
  if (earlier === -1 && !isComplete) return undefined
  return { last, before: bytes.subarray(earlier + 1, start), end: from + end + 1, size }
}

/** Reads backwards as far as needed: a power loss may leave a long run of zeros after the last line. */
export const readTail = async (segment: Segment): Promise<Tail> => {
  const file = await open(segment.path, 'r')
  try {
    const { size } = await file.stat()
    for (let reach = 4 * MAX_LINE_LENGTH; ; reach *= 4) {
      const from = Math.max(0, size - reach)
      const bytes = Buffer.alloc(size - from)
      await file.read(bytes, 0, bytes.length, from)
      const tail = tailOf(bytes, from, size)
      if (tail !== undefined) return tail
    }
  } finally {
    await file.close()
  }
}
