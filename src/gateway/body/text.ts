import { badExpression } from '../../expressions/errors.ts'
import { createTextScanner, type Piece } from '../../expressions/scan.ts'
import type { Expressions, Resolve, Template } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import type { Occurrence } from './plan.ts'
import { createPlaces, inPlace, type ScanLimits, type Scanner } from './scanner.ts'

const REPRESENTABLE: Readonly<Record<Charset, RegExp | undefined>> = {
  utf8: undefined,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole range of the encoding
  latin1: /^[\u0000-\u00ff]*$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole range of the encoding
  ascii: /^[\u0000-\u007f]*$/,
  other: /^$/,
}

/** Throws `invalid_expression` for a value that the charset cannot hold. */
export const checked = (text: string, charset: Charset): string => {
  if (REPRESENTABLE[charset]?.test(text) === false)
    throw badExpression("A value has characters that the body's charset cannot hold. Send the body as UTF-8.")
  return text
}

export const encodingOf = (charset: Charset): 'utf8' | 'latin1' => (charset === 'utf8' ? 'utf8' : 'latin1')

/** How expressions are read where they stand, and their values written there. */
export interface Writing {
  readonly encoding: 'utf8' | 'latin1'
  /** Throws `invalid_expression`. */
  read(expression: string): Template
  /** `expression` is what `read` was given. Throws `invalid_expression`. */
  write(value: string, expression: string): string
  /** Where the expression stands that begins at this byte. */
  place(position: number): string
}

/**
 * All of `[from, end)` that is no literal: expressions, with the white space that they eat. Pieces count from `from`.
 */
export const replacePieces = (
  part: Buffer,
  from: number,
  { pieces, end }: { readonly pieces: readonly Piece[]; readonly end: number },
  { encoding, read, write, place }: Writing,
): readonly Occurrence[] => {
  const occurrences: Occurrence[] = []
  const [first] = pieces
  const eaten = first === undefined ? end : first.kind === 'literal' ? first.start : 0
  if (eaten > 0)
    occurrences.push({
      start: from,
      end: from + eaten,
      parse: () => ({ ids: [], texts: [], print: () => '' }),
    })
  let start = from
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === 'literal') {
      start = from + piece.end
      continue
    }
    const next = pieces[at + 1]
    const to = from + (next === undefined ? end : next.kind === 'literal' ? next.start : piece.end)
    const here = `At ${place(from + piece.start)}`
    const parse = () => {
      const text = part.toString(encoding, from + piece.start, from + piece.end)
      const template = inPlace(here, () => read(text))
      const print = (resolve: Resolve, work: Work) => {
        const value = template.render(resolve, work)
        return inPlace(here, () => write(value, text))
      }
      return { ids: template.ids, texts: [text], print }
    }
    occurrences.push({ start, end: to, parse })
    start = to
  }
  return occurrences
}

/** `| raw` as the last filter: the value is written as it is. */
const RAW = /\|\s*raw\s*(-?\}\})$/

/** Characters that could end the line, the string or the markup around a value. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029"'`<>\\]/

const unsafe = () =>
  badExpression(
    'A value has a line break, a control character, a quote, an angle bracket or a backslash, which is not written into text of this content type. End the expression in "| raw" to write it as it is.',
  )

/**
 * Any text: each expression is replaced by the text of its value, and all other bytes stay. `free`: any value is
 * written as it is; else only what cannot end the place that it stands in, unless the expression ends in `| raw`. Bytes
 * are looked at as latin1, so that one character is one byte and text that is not valid in its charset survives.
 */
export const createText = (
  charset: Charset,
  expressions: Expressions,
  limits: ScanLimits,
  free: boolean,
): Scanner => {
  const scanner = createTextScanner(Number.isFinite(limits.longest) ? undefined : Number.POSITIVE_INFINITY)
  const encoding = encodingOf(charset)
  const places = createPlaces()
  const read = (expression: string): Template =>
    expressions.parse(free ? expression : expression.replace(RAW, '$1'))
  const write = (value: string, expression: string): string => {
    if (!free && UNSAFE.test(value) && !RAW.test(expression)) throw unsafe()
    return checked(value, charset)
  }
  return {
    encoding,
    mayHold: (bytes) => bytes.includes('{{'),
    scan(part, isLast) {
      const scanned = scanner.scan(part.toString('latin1'), isLast)
      const place = (position: number) => places.at(part, position)
      const occurrences = replacePieces(part, 0, scanned, { encoding, read, write, place })
      places.passed(part, scanned.end)
      return { end: scanned.end, occurrences }
    },
  }
}
