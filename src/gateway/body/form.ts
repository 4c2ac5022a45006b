import { AppError } from '../../common/errors.ts'
import { createTextScanner, type TextScanner } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import {
  createPairFinder,
  decodeForm,
  divisibleAt,
  encodeForm,
  holdsPair,
  mayHoldPair,
  type PairFinder,
  textOfField,
} from './form-encoding.ts'
import { fieldNames } from './places.ts'
import { type Occurrence, type Parsed, SLICE } from './plan.ts'
import type { ScanLimits, Scanned, Scanner } from './scanner.ts'
import { checked, replacePieces, type Writing } from './text.ts'

const AMPERSAND = 0x26
const EQUALS = 0x3d
/** Bytes that are looked at one by one in one turn. */
const EXACT = 2_097_152

const fieldTooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A form field with an expression in it is longer than ${limit} bytes. Send the body without streaming.`,
  )

/** Positions count from the field's beginning, which is that of the part. */
interface Undecided {
  readonly kind: 'undecided'
  /** Bytes that were looked at. */
  looked: number
  /** -1: the "=" has not come. */
  valueAt: number
  pair: boolean
  readonly find: PairFinder
}

/** Longer than what is held, and without an expression so far. */
interface Passing {
  readonly kind: 'passing'
  inValue: boolean
  readonly find: PairFinder
}

/** The value holds an expression and is evaluated in pieces. */
interface Evaluating {
  readonly kind: 'evaluating'
  /** Bytes of the field before the part. */
  length: number
  readonly scanner: TextScanner
}

/**
 * Form fields: values that hold `{{` once decoded are evaluated as text and encoded again; names, other values and
 * separators keep their bytes. A value of more than a slice is evaluated in pieces, so that no turn of the event loop
 * has all of it. Of a field that is too long to be held only that it holds no expression is decided.
 */
export const createForm = (charset: Charset, expressions: Expressions, { longest }: ScanLimits): Scanner => {
  /** The current field, whose end has not arrived. */
  let open: Undecided | Passing | Evaluating | undefined
  const isWhole = !Number.isFinite(longest)

  const encoded = (text: string): string => encodeForm(charset === 'utf8' ? text : checked(text, 'ascii'))

  const parseValue = (value: Buffer): Parsed => {
    const text = textOfField(value)
    const template = expressions.parse(text)
    const print = (resolve: Resolve, work: Work) => encoded(template.render(resolve, work))
    return { ids: template.ids, texts: [text], print }
  }

  const parseLiteral = (bytes: Buffer): Parsed => {
    const text = textOfField(bytes)
    return { ids: [], texts: [], print: () => encoded(text) }
  }

  /** Evaluates a piece of a long value, from `at` on; `end`: of the value, if it is in the part. */
  const evaluate = (part: Buffer, at: number, end: number | undefined, scanner: TextScanner): Scanned => {
    for (let size = SLICE; ; size *= 2) {
      const until = Math.min(end ?? part.length, at + size)
      const isLast = until === end
      const to = isLast ? until : divisibleAt(part, at, until)
      const { bytes, positions } = decodeForm(part, at, to)
      const { pieces, end: decided } = scanner.scan(bytes.toString('latin1'), isLast)
      if (decided === 0 && !isLast && until < (end ?? part.length)) continue
      const writing: Writing = {
        encoding: 'utf8',
        read: (expression) => expressions.parse(expression),
        write: encoded,
        place: () => 'a long form field',
      }
      const replaced = replacePieces(bytes, 0, { pieces, end: decided }, writing)
      const literals = pieces.flatMap(({ kind, start, end }) =>
        kind === 'literal' ? [{ start, end, parse: () => parseLiteral(bytes.subarray(start, end)) }] : [],
      )
      const occurrences = [...replaced, ...literals]
        .sort((a, b) => a.start - b.start)
        .map(({ start, end, parse }) => ({
          start: positions[start] as number,
          end: positions[end] as number,
          parse,
        }))
      return { end: positions[decided] as number, occurrences }
    }
  }

  /** Looks at what has come of a field that begins at `start`; `end`: of the field, if it is in the part. */
  const look = (part: Buffer, start: number, end: number | undefined): Undecided => {
    const field: Undecided =
      open?.kind === 'undecided'
        ? open
        : { kind: 'undecided', looked: 0, valueAt: -1, pair: false, find: createPairFinder() }
    const bytes = part.subarray(start, end)
    if (field.valueAt === -1) field.valueAt = bytes.indexOf(EQUALS, field.looked) + 1 || -1
    if (field.valueAt !== -1 && !field.pair)
      field.pair = field.find(bytes.subarray(Math.max(field.looked, field.valueAt)))
    field.looked = bytes.length
    return field
  }

  /** A complete short field. */
  const find = (part: Buffer, start: number, end: number): readonly Occurrence[] => {
    if (!holdsPair(part, start, end)) return []
    const valueAt = start + part.subarray(start, end).indexOf(EQUALS) + 1
    if (valueAt === start || !holdsPair(part, valueAt, end)) return []
    if (end - start > longest) throw fieldTooLong(longest)
    return [{ start: valueAt, end, parse: () => parseValue(decodeForm(part, valueAt, end).bytes) }]
  }

  const passOver = (part: Buffer, at: number, end: number | undefined, field: Passing): void => {
    const bytes = part.subarray(at, end)
    const equals = field.inValue ? -1 : bytes.indexOf(EQUALS)
    if (!field.inValue && equals === -1) return
    field.inValue = true
    if (field.find(bytes.subarray(equals + 1))) throw fieldTooLong(longest)
  }

  const scan: Scanner['scan'] = (part, isLast) => {
    const occurrences: Occurrence[] = []
    for (let at = 0; ; ) {
      // More than a slice is for another turn.
      if (isWhole && at >= SLICE) return { end: at, occurrences }
      const next = part.indexOf(AMPERSAND, open?.kind === 'undecided' ? at + open.looked : at)
      const end = next !== -1 ? next : isLast ? part.length : undefined
      if (open?.kind === 'passing') passOver(part, at, end, open)
      else if (open?.kind === 'evaluating') {
        const scanned = evaluate(part, at, end, open.scanner)
        open.length += scanned.end - at
        if (open.length > longest) throw fieldTooLong(longest)
        occurrences.push(...scanned.occurrences)
        const isStuck = scanned.end === at
        at = scanned.end
        if (at !== end) {
          if (isStuck) return { end: at, occurrences }
          continue
        }
      } else if (open === undefined && end !== undefined && end - at <= SLICE)
        occurrences.push(...find(part, at, end))
      else {
        const field = look(part, at, end)
        if (field.pair && field.looked > longest) throw fieldTooLong(longest)
        if (field.pair && field.looked > SLICE) {
          open = { kind: 'evaluating', length: field.valueAt, scanner: createTextScanner() }
          at += field.valueAt
          continue
        }
        if (end === undefined) {
          open = field
          if (field.looked <= longest) return { end: at, occurrences }
          open = { kind: 'passing', inValue: field.valueAt !== -1, find: field.find }
        } else if (field.pair) occurrences.push(...find(part, at, end))
      }
      open = end === undefined ? open : undefined
      if (next === -1) return { end: part.length, occurrences }
      at = next + 1
    }
  }
  // A scan decides about more in slices.
  const mayHold = (bytes: Buffer) => mayHoldPair(bytes) && (bytes.length > EXACT || holdsPair(bytes))
  return { encoding: 'latin1', findPlaces: fieldNames, mayHold, scan }
}
