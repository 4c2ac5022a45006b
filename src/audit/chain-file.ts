import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../common/errors.ts'
import { type Segment, segmentOf } from './segments.ts'

const NEWLINE = 0x0a
const PROBE = Buffer.alloc(512, ' ')

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants

/** Creates a segment; its name is on disk when this returns. */
export const createSegment = (segment: Segment): number => {
  const fd = openSync(segment.path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o600)
  const directory = openSync(dirname(segment.path), 'r')
  try {
    fsyncSync(directory)
  } catch (thrown) {
    closeSync(fd)
    // Otherwise the next attempt finds a file of this name.
    unlinkSync(segment.path)
    throw thrown
  } finally {
    closeSync(directory)
  }
  return fd
}

export const openSegment = (segment: Segment): number => openSync(segment.path, O_WRONLY | O_APPEND)

/** Seals a segment against its writer, in any process: its next write fails for lack of permission. */
export const sealSegment = ({ path }: Segment): void => chmodSync(path, 0o400)

/** Result of a write: bytes of complete lines in the journal, and the error when not all were written. */
interface Written {
  readonly bytes: number
  readonly error?: unknown
}

/**
 * The segment being written. Complete lines are never removed once written, since a reader may have them; half a line
 * is truncated.
 *
 * Writes are synchronous: a write of some hundred bytes into the page cache takes 2–3 µs, while the thread pool takes
 * about 90 µs (Node 24, ext4), which every disclosure would wait for.
 */
export class ChainFile {
  readonly #limit: number
  readonly #retired: number[] = []
  #segment: Segment
  #fd: number
  #size: number
  #torn = false
  #full = false
  #foreign = false

  constructor(segment: Segment, fd: number, size: number, limit: number) {
    this.#segment = segment
    this.#fd = fd
    this.#size = size
    this.#limit = limit
  }

  /** The descriptor being written. */
  get fd(): number {
    return this.#fd
  }

  /** True once another process changed, sealed or removed the file: only a restart, which reads it again, helps. */
  get foreign(): boolean {
    return this.#foreign
  }

  /** Descriptors of earlier segments, to be synced and closed by the caller. */
  takeRetired(): readonly number[] {
    return this.#retired.splice(0)
  }

  write(lines: Buffer): Written {
    try {
      this.#prepare(lines.length)
    } catch (error) {
      return { bytes: 0, error }
    }
    let written = 0
    try {
      while (written < lines.length) written += writeSync(this.#fd, lines, written)
    } catch (error) {
      const complete = written === 0 ? 0 : lines.lastIndexOf(NEWLINE, written - 1) + 1
      this.#size += complete
      if (written > complete) this.#torn = true
      try {
        this.#mend()
      } catch {
        // Retried before the next write.
      }
      return { bytes: complete, error }
    }
    this.#size += written
    return { bytes: written }
  }

  /** Throws when the journal cannot grow. Writes nothing. */
  probe(): void {
    this.#prepare(PROBE.length)
    this.#torn = true
    let written = 0
    try {
      while (written < PROBE.length) written += writeSync(this.#fd, PROBE, written)
    } finally {
      this.#mend()
    }
  }

  /** Throws when the file differs from what this process wrote. */
  check(): void {
    const { size, nlink, mode } = fstatSync(this.#fd)
    const sealed = (mode & constants.S_IWUSR) === 0
    if (!sealed && nlink > 0 && (size === this.#size || this.#torn)) return
    this.#foreign = true
    const file = `The audit journal's file "${this.#segment.file}"`
    throw new AppError(
      'gateway_timeout',
      sealed
        ? `${file} was sealed, so nothing is disclosed: the store has other records under its numbers. Another machine may use a copy of this data directory. Run "sidevault audit verify", then restart.`
        : `${file} was changed or removed. Run "sidevault audit verify", then restart.`,
    )
  }

  #prepare(bytes: number): void {
    this.check()
    this.#mend()
    if (this.#size > 0 && this.#size + bytes > this.#limit) this.#full = true
    if (this.#full) this.#rotate()
  }

  #mend(): void {
    if (!this.#torn) return
    ftruncateSync(this.#fd, this.#size)
    this.#torn = false
  }

  #rotate(): void {
    const next = segmentOf(dirname(this.#segment.path), this.#segment.name, this.#segment.number + 1)
    const fd = createSegment(next)
    this.#retired.push(this.#fd)
    this.#segment = next
    this.#fd = fd
    this.#size = 0
    this.#full = false
  }
}
