/** Expressions in the path and the query of a proxied request (completions §13). */
import { AppError } from '../../common/errors.ts'
import { mapInTurns } from '../../common/event-loop.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { hasDotSegment } from '../../egress/parse-url.ts'
import { badExpression } from '../../expressions/errors.ts'
import type { Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Surface } from '../../sdk/index.ts'
import { decodeForm, encodeComponent } from '../body/form-encoding.ts'
import { type EncodedText, type Parse, parseQueryValue, parseSegment } from './encoded-text.ts'
import { inSurface, type SurfaceText } from './surface-text.ts'

/** Bytes of a path and query that was built from values. */
export const URL_BYTES = 8_192

/** False: the path and query hold no `{{`, percent-encoded or not. As quick as a search can be. */
export const mayHoldBraces = (path: string): boolean =>
  path.includes('{{') || path.includes('%7b') || path.includes('%7B')

export interface UrlPlan {
  readonly texts: readonly SurfaceText[]
  /** Stretches with braces that are not evaluated. */
  readonly closed: readonly { readonly place: string; readonly text: string }[]
  /** Builds the path and query. Fails with `invalid_expression` and `uri_too_long`. */
  build(resolve: Resolve, work: Work): Eventual<string>
}

/** A stretch as it was sent, or an evaluated one. */
type Part = string | SurfaceText

const isText = (part: Part): part is SurfaceText => typeof part !== 'string'

const parameterName = (pair: string): string => {
  const raw = Buffer.from(pair, 'latin1')
  const equals = raw.indexOf('=')
  return decodeForm(raw, 0, equals === -1 ? raw.length : equals).bytes.toString('utf8')
}

const uriTooLong = () =>
  new AppError(
    'uri_too_long',
    `The path and query are longer than ${URL_BYTES} bytes once their expressions are replaced. Name smaller values.`,
  )

const badSegment = () =>
  badExpression('A segment of the path would be empty or a dot segment. Check the values of its tokens.')

const checkedSegment = (text: EncodedText): EncodedText => ({
  ...text,
  print: (resolve, work) => {
    const segment = text.print(resolve, work)
    if (segment.length > URL_BYTES) throw uriTooLong()
    if (segment === '' || hasDotSegment(segment)) throw badSegment()
    return segment
  },
})

const pathParts = (path: string, parse: Parse): Part[] =>
  path
    .split('/')
    .map((segment) =>
      mayHoldBraces(segment)
        ? inSurface('path', () => checkedSegment(parseSegment(segment, parse, encodeComponent)))
        : segment,
    )

/** A parameter: as it was sent, or up to the "=" with the value behind it. */
type Pair = readonly [string] | readonly [string, SurfaceText]

/** Expressions are evaluated in the values of parameters on the list, and never in a name. */
const pairParts = (pair: string, surfaces: readonly Surface[], parse: Parse): Pair => {
  const surface: Surface = `query:${parameterName(pair)}`
  const value = pair.indexOf('=') + 1
  if (value === 0 || !surfaces.includes(surface) || !mayHoldBraces(pair.slice(value))) return [pair]
  return [
    pair.slice(0, value),
    inSurface(surface, () => parseQueryValue(pair.slice(value), parse, encodeComponent)),
  ]
}

/**
 * `path`: with its query, as it goes out. Throws `invalid_expression`.
 */
export const planUrl = (path: string, surfaces: readonly Surface[], parse: Parse): UrlPlan => {
  const mark = path.indexOf('?')
  const before = mark === -1 ? path : path.slice(0, mark)
  const segments: readonly Part[] = surfaces.includes('path') ? pathParts(before, parse) : [before]
  const pairs =
    mark === -1
      ? []
      : path
          .slice(mark + 1)
          .split('&')
          .map((pair) => pairParts(pair, surfaces, parse))
  const closed = [
    ...(surfaces.includes('path') ? [] : [{ place: 'path', text: before }]),
    // Of an evaluated parameter: its name.
    ...pairs.map(([text]) => ({ place: `query:${parameterName(text)}`, text })),
  ]
  const texts = [...segments, ...pairs.flat()].filter(isText)
  const joined = (printed: readonly string[]): string => {
    const values = new Map(texts.map((text, at) => [text, printed[at] as string]))
    const print = (part: Part) => (isText(part) ? (values.get(part) as string) : part)
    const query = pairs.map((pair) => pair.map(print).join('')).join('&')
    const url = segments.map(print).join('/') + (mark === -1 ? '' : `?${query}`)
    if (url.length > URL_BYTES) throw uriTooLong()
    return url
  }
  return {
    texts,
    closed: closed.filter(({ text }) => mayHoldBraces(text)),
    build: (resolve, work) =>
      texts.length === 0
        ? path
        : whenReady(
            mapInTurns(texts, (text) => text.print(resolve, work)),
            joined,
          ),
  }
}
