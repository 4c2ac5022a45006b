import { AppError } from '../../common/errors.ts'
import { mapInTurns, yieldIfDue } from '../../common/event-loop.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { tooMany } from '../../expressions/scan.ts'
import type { Resolve } from '../../expressions/types.ts'
import { bodyWork, type Work } from '../../expressions/work.ts'
import { type FindPlaces, lines, withPlace, withTokenPlaces } from './places.ts'

/**
 * What is to be done with a request body. `pass`: forward the bytes as they came. `rewrite`: look up `ids`, then send
 * what `apply` makes instead; when `decoded`, without its Content-Encoding.
 */
export type Plan =
  | { readonly kind: 'pass' }
  | {
      readonly kind: 'rewrite'
      /** Token ids that the body names, each once. */
      readonly ids: readonly string[]
      readonly decoded: boolean
      /** The strings that hold expressions, decoded. */
      texts(): readonly string[]
      /** An error about tokens, with the places that name them. */
      located(thrown: unknown): Promise<unknown>
      /**
       * Pure. `work`: what the call has left, if not all of a body's. Fails with `invalid_expression` and `too_large`.
       */
      apply(resolve: Resolve, work?: Work): Eventual<Buffer>
    }

export const PASS: Plan = { kind: 'pass' }

/** The replacement of a stretch of the body. */
export interface Parsed {
  readonly ids: readonly string[]
  /** The strings with expressions that stood there, decoded. */
  readonly texts: readonly string[]
  /** The new bytes as text in the plan's encoding. */
  print(resolve: Resolve, work: Work): string
}

/** A stretch `[start, end)` of the body and what takes its place. */
export interface Replacement extends Parsed {
  readonly start: number
  readonly end: number
}

/** A place with an expression that is not parsed yet: a body may hold very many. */
export interface Occurrence {
  readonly start: number
  readonly end: number
  /** Throws `invalid_expression` and `malformed`. */
  parse(): Parsed
}

/** An occurrence in a stretch that begins at `by`. */
export const shifted = (occurrence: Occurrence, by: number): Occurrence =>
  by === 0 ? occurrence : { ...occurrence, start: occurrence.start + by, end: occurrence.end + by }

const parsed = ({ start, end, parse }: Occurrence): Replacement => {
  const { ids, texts, print } = parse()
  return { start, end, ids, texts, print }
}

export const parseAll = (occurrences: readonly Occurrence[]): Eventual<readonly Replacement[]> =>
  mapInTurns(occurrences, parsed)

/** Bytes that are scanned in one turn, unless what is in them is longer. */
export const SLICE = 16_384

type Find = (
  slice: Buffer,
  isLast: boolean,
) => { readonly end: number; readonly occurrences: readonly Occurrence[] }

/**
 * A complete body as long work. `find` returns how far it came in a slice, and what it found there; the rest comes
 * again, with more behind it. At most `limit` are found; else `too_large`.
 */
export const findInSlices = (body: Buffer, limit: number, find: Find): Eventual<readonly Occurrence[]> => {
  if (body.length > SLICE) return findOn(body, limit, find, 0, [])
  const { end, occurrences } = find(body, true)
  if (occurrences.length > limit) throw tooMany()
  return end === body.length ? occurrences : findOn(body, limit, find, end, [...occurrences])
}

/** Continues at `start`, behind what is found. */
const findOn = async (
  body: Buffer,
  limit: number,
  find: Find,
  start: number,
  all: Occurrence[],
): Promise<readonly Occurrence[]> => {
  let size = SLICE
  for (let from = start; ; ) {
    const pause = from > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    const isLast = from + size >= body.length
    const { end, occurrences } = find(isLast ? body.subarray(from) : body.subarray(from, from + size), isLast)
    for (const occurrence of occurrences) all.push(shifted(occurrence, from))
    if (all.length > limit) throw tooMany()
    if (isLast && from + end === body.length) return all
    // An element longer than a slice is read again when twice as much has arrived.
    size = end === 0 ? 2 * size : SLICE
    from += end
  }
}

export const tooLarge = (limit: number) =>
  new AppError(
    'too_large',
    `The body is larger than ${limit} bytes once its expressions are replaced. Name fewer or smaller tokens.`,
  )

/** The bytes, with these texts in the place of stretches; they are `length` together. */
export const spliced = (
  body: Buffer,
  replacements: readonly Replacement[],
  printed: readonly string[],
  encoding: 'utf8' | 'latin1',
  length: number,
): Buffer => {
  const result = Buffer.allocUnsafe(length)
  let from = 0
  let to = 0
  for (const [at, { start, end }] of replacements.entries()) {
    to += body.copy(result, to, from, start)
    to += result.write(printed[at] ?? '', to, encoding)
    from = end
  }
  to += body.copy(result, to, from)
  return to === length ? result : result.subarray(0, to)
}

/** Token ids, each once. */
export const idsOf = (replacements: readonly Pick<Replacement, 'ids'>[]): readonly string[] => {
  const [first] = replacements
  if (first !== undefined && replacements.length === 1) return first.ids
  const ids = new Set<string>()
  for (const replacement of replacements) for (const id of replacement.ids) ids.add(id)
  return [...ids]
}

/** The plan that replaces stretches in ascending order and keeps every other byte. */
export const planOf = (
  body: Buffer,
  occurrences: readonly Occurrence[],
  limit: number,
  {
    encoding,
    findPlaces = lines,
  }: { readonly encoding: 'utf8' | 'latin1'; readonly findPlaces?: FindPlaces },
): Eventual<Plan> => {
  if (occurrences.length === 0) return PASS
  /** Position, in bytes of the body, of the expression that is parsed or printed. */
  let position = 0
  /** Errors of `work` name the place. */
  const fail = async (thrown: unknown): Promise<never> => {
    throw await withPlace(thrown, body, position, findPlaces)
  }
  const placed = <T, R>(items: readonly T[], make: (item: T) => R): Eventual<readonly R[]> => {
    try {
      const results = mapInTurns(items, make)
      return results instanceof Promise ? results.catch(fail) : results
    } catch (thrown) {
      return fail(thrown)
    }
  }
  const replacing = placed(occurrences, (occurrence) => {
    position = occurrence.start
    return parsed(occurrence)
  })
  const applyTo = (replacements: readonly Replacement[], resolve: Resolve, work: Work): Eventual<Buffer> => {
    let length = body.length
    const print = (replacement: Replacement): string => {
      position = replacement.start
      const text = replacement.print(resolve, work)
      length += Buffer.byteLength(text, encoding) - (replacement.end - replacement.start)
      if (length > limit) throw tooLarge(limit)
      return text
    }
    return whenReady(placed(replacements, print), (printed) =>
      spliced(body, replacements, printed, encoding, length),
    )
  }
  return whenReady(replacing, (replacements) => ({
    kind: 'rewrite',
    ids: idsOf(replacements),
    decoded: false,
    texts: () => replacements.flatMap(({ texts }) => texts),
    located: (thrown) => withTokenPlaces(thrown, body, replacements, findPlaces),
    apply: (resolve, work = bodyWork()) => applyTo(replacements, resolve, work),
  }))
}
