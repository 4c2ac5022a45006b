/**
 * Texts of a request's head whose expressions are replaced: a header's line, a segment of the path, a value of the
 * query.
 */
import { badExpression } from '../../expressions/errors.ts'
import { scanText } from '../../expressions/scan.ts'
import type { Resolve, Template } from '../../expressions/types.ts'
import type { Variables } from '../../expressions/variables.ts'
import { storedWork, type Work } from '../../expressions/work.ts'
import { decodeForm } from '../body/form-encoding.ts'
import { trimmedLine } from '../headers.ts'

/** A text whose literal stretches keep their bytes. */
export interface EncodedText {
  readonly ids: readonly string[]
  /** Expressions of the text, decoded. */
  readonly texts: readonly string[]
  /** The text with values in the place of expressions, in one turn of the event loop. Throws `invalid_expression`. */
  print(resolve: Resolve, work: Work, variables?: Variables): string
}

/** Parses one `{{ … }}`. Throws `invalid_expression`. */
export type Parse = (expression: string) => Template

/** How a value is written where it stands. Throws `invalid_expression`. */
type Write = (value: string) => string

const utf8Of = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8')

/** A text as bytes; `literal` returns the bytes of a stretch as they were sent. */
const parseBytes = (
  bytes: string,
  literal: (start: number, end: number) => string,
  parse: Parse,
  write: Write,
): EncodedText => {
  const parts: (string | Template)[] = []
  const texts: string[] = []
  for (const { kind, start, end } of scanText(bytes)) {
    if (kind === 'literal') parts.push(literal(start, end))
    else {
      const text = utf8Of(bytes.slice(start, end))
      texts.push(text)
      parts.push(parse(text))
    }
  }
  return {
    ids: parts.flatMap((part) => (typeof part === 'string' ? [] : part.ids)),
    texts,
    print: (resolve, total, variables) => {
      const work = storedWork(total)
      return parts
        .map((part) => (typeof part === 'string' ? part : write(part.render(resolve, work, variables))))
        .join('')
    },
  }
}

/** Every control character; U+0080 to U+009F are such, too. */
const CONTROL = /\p{Cc}/u
const CONTROL_BUT_TAB = /[^\P{Cc}\t]/u

/** A line of a header: bytes as characters, as Envoy sends and takes them. */
export const parseHeaderLine = (line: string, parse: Parse): EncodedText => {
  const write = (value: string): string => {
    if (CONTROL_BUT_TAB.test(value))
      throw badExpression(
        'A value has a control character, which a header cannot hold. Encode it with a filter.',
      )
    return Buffer.from(value, 'utf8').toString('latin1')
  }
  const text = parseBytes(line, (start, end) => line.slice(start, end), parse, write)
  return {
    ...text,
    print: (resolve, work, variables) => trimmedLine(text.print(resolve, work, variables)),
  }
}

const PLUS = 0x2b

/** A percent-encoded text; `plus`: the byte that "+" stands for. */
const parseEncoded = (encoded: string, parse: Parse, write: Write, plus?: number): EncodedText => {
  const raw = Buffer.from(encoded, 'latin1')
  const { bytes, positions } = decodeForm(raw, 0, raw.length, plus)
  const literal = (start: number, end: number) => encoded.slice(positions[start], positions[end])
  return parseBytes(bytes.toString('latin1'), literal, parse, write)
}

/** A segment of a path. */
export const parseSegment = (segment: string, parse: Parse, encode: Write): EncodedText =>
  parseEncoded(
    segment,
    parse,
    (value) => {
      if (CONTROL.test(value))
        throw badExpression(
          'A value has a control character, which a path cannot hold. Encode it with a filter.',
        )
      return encode(value)
    },
    PLUS,
  )

/** The value of a parameter of a query. */
export const parseQueryValue = (value: string, parse: Parse, encode: Write): EncodedText =>
  parseEncoded(value, parse, encode)
