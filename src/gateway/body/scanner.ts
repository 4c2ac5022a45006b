/** Scanners of bodies by content type: complete or in parts. Both give the same bytes. */
import { AppError } from '../../common/errors.ts'
import type { BodyLimits } from './limits.ts'
import type { FindPlaces } from './places.ts'
import { type Occurrence, shifted } from './plan.ts'

export interface Scanned {
  /** How much of the part is decided. The rest of it begins the next part. */
  readonly end: number
  /** Ascending. Positions count from the beginning of the part. */
  readonly occurrences: readonly Occurrence[]
}

export interface Scanner {
  /** The encoding that turns printed replacements into bytes. */
  readonly encoding: 'utf8' | 'latin1'
  /** How errors name places; absent: by lines. */
  readonly findPlaces?: FindPlaces
  /** False: no expression is in the bytes, well formed or not. Linear. */
  mayHold(bytes: Buffer): boolean
  /**
   * Continues where the last call stopped. Linear in `part`; remembers no bytes of it. It may leave some of the last
   * part of a complete body for another turn, which then is the last part again. Throws `invalid_expression`,
   * `malformed`, and `too_large` for what is too long to wait for.
   */
  scan(part: Buffer, isLast: boolean): Scanned
}

export type ScanLimits = Omit<BodyLimits, 'decodedBytes' | 'expressions'> & {
  /** Bytes of a JSON string or form field that is waited for. */
  readonly longest: number
}

/** Scans the last part to its end in this turn. */
export const scanToEnd = (scanner: Scanner, part: Buffer): readonly Occurrence[] => {
  const all: Occurrence[] = []
  for (let from = 0; ; ) {
    const { end, occurrences } = scanner.scan(part.subarray(from), true)
    for (const occurrence of occurrences) all.push(shifted(occurrence, from))
    from += end
    if (from === part.length) return all
  }
}

/** `too_large`: more expressions in one place than are handled in one turn. */
export const tooManyTogether = (limit: number): AppError =>
  new AppError(
    'too_large',
    `More than ${limit} expressions are in one text, field or part of the body. Divide it.`,
  )

/** Runs `work`; the errors that a caller can act on name the place. */
export const inPlace = <Result>(place: string, work: () => Result): Result => {
  try {
    return work()
  } catch (thrown) {
    const error = AppError.from(thrown)
    if (error.code !== 'malformed' && error.code !== 'invalid_expression') throw thrown
    throw new AppError(error.code, `${place}: ${error.message}`)
  }
}

/** Line and column of ascending positions. Columns count bytes; both begin at 1. */
interface Places {
  at(part: Buffer, position: number): string
  /** The first `end` bytes of the part are done with. */
  passed(part: Buffer, end: number): void
}

export const createPlaces = (): Places => {
  let line = 1
  let column = 1
  let seen = 0
  const advance = (part: Buffer, to: number): void => {
    if (to <= seen) return
    const stretch = part.subarray(seen, to)
    let from = 0
    for (let next = stretch.indexOf(0x0a); next !== -1; next = stretch.indexOf(0x0a, from)) {
      from = next + 1
      line++
      column = 1
    }
    column += stretch.length - from
    seen = to
  }
  return {
    at(part, position) {
      advance(part, position)
      return `line ${line}, column ${column}`
    },
    passed(part, end) {
      advance(part, end)
      seen = 0
    },
  }
}

/** The longest escaped `{{` of any content type, less one: `\u007b\u007`. */
const OVERLAP = 11

/** A body that does not fit its type passes while it holds no `{{`, as complete bodies do. */
export const lenient = (scanner: Scanner): Scanner => {
  let mayHold = false
  let issue: unknown
  /** So many bytes at the beginning of the next part were looked at; the last ones of those. */
  let looked = 0
  let overlap: Buffer = Buffer.alloc(0)

  const look = (more: Buffer): void => {
    if (mayHold) return
    const between = Buffer.concat([overlap, more.subarray(0, OVERLAP)])
    mayHold = scanner.mayHold(between) || scanner.mayHold(more)
    overlap = Buffer.from((more.length < OVERLAP ? between : more).subarray(-OVERLAP))
  }

  return {
    encoding: scanner.encoding,
    mayHold: scanner.mayHold,
    scan(part, isLast) {
      look(part.subarray(looked))
      if (issue !== undefined && mayHold) throw issue
      let scanned: Scanned = { end: part.length, occurrences: [] }
      if (issue === undefined)
        try {
          scanned = scanner.scan(part, isLast)
        } catch (thrown) {
          if (mayHold || AppError.from(thrown).code !== 'malformed') throw thrown
          issue = thrown
        }
      looked = part.length - scanned.end
      return scanned
    },
  }
}
