import { AppError } from '../../common/errors.ts'
import { badExpression } from '../../expressions/errors.ts'
import type { Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import { parameterOf } from './content.ts'
import { holdsPair as inForm } from './form-encoding.ts'
import { mayHoldPair as inJson } from './json.ts'
import { idsOf, type Occurrence, type Parsed, spliced, tooLarge } from './plan.ts'
import { inPlace, type ScanLimits, type Scanner, scanToEnd, tooManyTogether } from './scanner.ts'

/** RFC 2046 §5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/
/** Bytes of the headers of one part. */
const MAX_HEADERS = 16_384
const MAX_PARTS = 10_000
/** The longest `{{` that a part of any type may hold. */
const MAX_PAIR = 12
const NAMEABLE = /^[\w.[\]-]{1,64}$/

/** The boundary of a content type; undefined: there is none that is valid, or several. */
export const boundaryOf = (contentType: string): string | undefined => {
  if ((contentType.match(/;\s*boundary\s*=/gi) ?? []).length !== 1) return undefined
  const boundary = parameterOf(contentType, 'boundary')
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : undefined
}

const malformed = (what: string) =>
  new AppError(
    'malformed',
    `The body holds "{{" but is not the multipart form that its content type says: ${what}. Send valid multipart/form-data.`,
  )

type PartHeaders = ReadonlyMap<string, string>

/** Throws `malformed`, also for a header that comes twice: the destination might take the other one. */
const readHeaders = (text: string): PartHeaders => {
  const headers = new Map<string, string>()
  for (const line of text === '' ? [] : text.split('\r\n')) {
    const [, name, value] = /^([^\s:]+)[ \t]*:[ \t]*([^\r\n]*)$/.exec(line) ?? []
    if (name === undefined || value === undefined || headers.has(name.toLowerCase()))
      throw malformed('the headers of a part cannot be read')
    headers.set(name.toLowerCase(), value.trim())
  }
  return headers
}

/** Whether a part holds the boundary would tell about a value, since the sender chooses the boundary. */
const withoutOpaque =
  (resolve: Resolve): Resolve =>
  (id) => {
    const token = resolve(id)
    if (token?.opacity !== undefined)
      throw badExpression(
        'A multipart body cannot hold a value that its sender may not see. Send it as JSON or as a form.',
      )
    return token
  }

/** The part that is being read. */
interface Current {
  readonly place: string
  /** Undefined: a file. */
  readonly scanner: Scanner | undefined
  /** True when the part's bytes are scanned and forwarded unchanged. */
  readonly passes: boolean
  /** True when the part is longer than the buffer, and has no expression so far. */
  long: boolean
}

/** Reads a part of this type, `undefined` when it has none; `passes`: it has no place for values. */
export type PartScanner = (contentType: string | undefined) => {
  readonly scanner: Scanner
  readonly passes: boolean
}

const PLAIN_ENCODINGS = ['7bit', '8bit', 'binary']

/**
 * `multipart/form-data` (RFC 7578): each part by the rules of its own type; parts with a filename, names and boundaries
 * keep their bytes. What comes before the first boundary or behind the last one, other than line breaks, is rejected in
 * a body with an expression.
 */
export const createMultipart = (
  boundary: string,
  scannerOfPart: PartScanner,
  unread: () => Scanner,
  limits: ScanLimits,
): Scanner => {
  const dashed = `--${boundary}`
  const delimiter = `\r\n${dashed}`
  let state: 'start' | 'delimiter' | 'content' | 'end' = 'start'
  let current: Current | undefined
  let number = 0

  const partOf = (headers: PartHeaders): Current => {
    const disposition = headers.get('content-disposition') ?? ''
    const name = parameterOf(disposition, 'name') ?? ''
    const place = NAMEABLE.test(name) ? `Part ${number} ("${name}")` : `Part ${number}`
    const isFile = ['filename', 'filename*'].some((name) => parameterOf(disposition, name) !== undefined)
    if (isFile) return { place, scanner: undefined, passes: true, long: false }
    const coding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary'
    const read = PLAIN_ENCODINGS.includes(coding)
      ? inPlace(place, () => scannerOfPart(headers.get('content-type')))
      : { scanner: unread(), passes: true }
    return { place, ...read, long: false }
  }

  /** A value must not be read as the end of its part, with any line ending. */
  const checkBoundary = (content: string): string => {
    if (content.startsWith(dashed) || content.includes(`\n${dashed}`) || content.includes(`\r${dashed}`))
      throw badExpression(
        'After replacement, a part contains the boundary of the body. Choose another boundary.',
      )
    return content
  }

  const parse = (content: Buffer, { encoding }: Scanner, occurrences: readonly Occurrence[]): Parsed => {
    const replacements = occurrences.map((occurrence) => ({ ...occurrence, ...occurrence.parse() }))
    const print = (resolveAny: Resolve, work: Work): string => {
      const resolve = withoutOpaque(resolveAny)
      let { length } = content
      const printed = replacements.map((replacement) => {
        const text = replacement.print(resolve, work)
        length += Buffer.byteLength(text, encoding) - (replacement.end - replacement.start)
        if (length > limits.rewrittenBytes) throw tooLarge(limits.rewrittenBytes)
        return text
      })
      return checkBoundary(spliced(content, replacements, printed, encoding, length).toString('latin1'))
    }
    return { ids: idsOf(replacements), texts: replacements.flatMap(({ texts }) => texts), print }
  }

  /** A part is replaced completely: several values and the text between them are checked together. */
  const findIn = (content: Buffer, start: number, { scanner, place }: Current): readonly Occurrence[] => {
    if (scanner === undefined || !scanner.mayHold(content)) return []
    const occurrences = inPlace(place, () => scanToEnd(scanner, content))
    if (occurrences.length > limits.together) throw tooManyTogether(limits.together)
    if (occurrences.length === 0) return []
    const parseAll = () => {
      const parsed = inPlace(place, () => parse(content, scanner, occurrences))
      const print = (resolve: Resolve, work: Work) => inPlace(place, () => parsed.print(resolve, work))
      return { ...parsed, print }
    }
    return [{ start, end: start + content.length, parse: parseAll }]
  }

  /** Where the part's headers begin, behind a boundary at `at`; `end`: it was the last. Undefined: not there yet. */
  const headersAt = (part: Buffer, at: number, isLast: boolean): number | 'end' | undefined => {
    const rest = part.toString('latin1', at, at + MAX_HEADERS)
    if (rest.startsWith('--')) return 'end'
    const line = /^[ \t]*\r\n/.exec(rest)
    if (line !== null) return at + line[0].length - 2
    if (!isLast && /^(-|[ \t]*\r?)$/.test(rest) && rest.length < MAX_HEADERS) return undefined
    throw malformed('a boundary with data after it')
  }

  /** Looks at `[at, end)` of a part whose end is not there yet, or that is too long to be held. */
  const passOver = (part: Buffer, at: number, end: number, current: Current): void => {
    if (current.passes) inPlace(current.place, () => current.scanner?.scan(part.subarray(at, end), false))
    else if (current.scanner?.mayHold(part.subarray(at)))
      throw new AppError(
        'too_large',
        `${current.place}, with an expression in it, is longer than ${limits.heldBytes} bytes. Send it as a file, or divide it.`,
      )
  }

  const scan = (part: Buffer, isLast: boolean, occurrences: Occurrence[]): number => {
    let at = 0
    for (;;) {
      if (state === 'start') {
        const text = part.toString('latin1', 0, delimiter.length)
        const begins = [dashed, delimiter].find((boundary) => text.startsWith(boundary))
        if (begins === undefined) {
          if (!isLast && (dashed.startsWith(text) || delimiter.startsWith(text))) return 0
          throw malformed('it does not begin with its boundary')
        }
        at = begins.length
        state = 'delimiter'
      } else if (state === 'delimiter') {
        const begin = headersAt(part, at, isLast)
        if (begin === undefined) return at
        if (begin === 'end') {
          state = 'end'
          at += 2
          continue
        }
        const end = part.indexOf('\r\n\r\n', begin)
        if (end === -1 ? isLast || part.length - begin > MAX_HEADERS : end - begin > MAX_HEADERS)
          throw malformed('a part without an end of its headers')
        if (end === -1) return at
        if (++number > MAX_PARTS) throw malformed(`more than ${MAX_PARTS} parts`)
        current = partOf(readHeaders(part.toString('latin1', begin + 2, Math.max(end, begin + 2))))
        state = 'content'
        at = end + 4
      } else if (state === 'content' && current !== undefined) {
        if (!current.long && part.toString('latin1', at, at + dashed.length) === dashed)
          throw malformed('a part without a line break before its boundary')
        const end = part.indexOf(delimiter, at)
        if (end === -1) {
          if (isLast) throw malformed('it ends within a part')
          if (!current.passes && !current.long && part.length - at <= limits.heldBytes) return at
          const decided = Math.max(at, part.length - Math.max(delimiter.length, MAX_PAIR))
          passOver(part, at, decided, current)
          if (decided > at) current.long = true
          return decided
        }
        if (current.passes || current.long || end - at > limits.heldBytes)
          passOver(part.subarray(0, end), at, end, current)
        else occurrences.push(...findIn(part.subarray(at, end), at, current))
        at = end + delimiter.length
        state = 'delimiter'
      } else {
        if (/[^ \t\r\n]/.test(part.toString('latin1', at))) throw malformed('data after its last boundary')
        return part.length
      }
    }
  }

  return {
    encoding: 'latin1',
    mayHold: (bytes) => inJson(bytes) || inForm(bytes),
    scan(part, isLast) {
      const occurrences: Occurrence[] = []
      const end = scan(part, isLast, occurrences)
      if (isLast && state !== 'end') throw malformed('its last boundary is missing')
      return { end, occurrences }
    },
  }
}
