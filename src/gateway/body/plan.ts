import { AppError } from '../../common/errors.ts'
import type { Resolve } from '../../expressions/types.ts'
import { bodyWork, type Work } from '../../expressions/work.ts'

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
      /** Pure. Throws `bad_expression` and `too_large`. */
      apply(resolve: Resolve): Buffer
    }

export const PASS: Plan = { kind: 'pass' }

/** A stretch `[start, end)` of the body and what takes its place. */
export interface Replacement {
  readonly start: number
  readonly end: number
  readonly ids: readonly string[]
  /** What stood there, decoded. */
  readonly text: string
  /** The new bytes as text in the plan's encoding. */
  print(resolve: Resolve, work: Work): string
}

const tooLarge = (limit: number) =>
  new AppError(
    'too_large',
    `The body is larger than ${limit} bytes once its expressions are replaced. Name fewer or smaller tokens.`,
  )

/** The plan that replaces stretches in ascending order and keeps every other byte. */
export const planOf = (
  body: Buffer,
  replacements: readonly Replacement[],
  limit: number,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Plan => {
  if (replacements.length === 0) return PASS
  const ids = new Set<string>()
  for (const replacement of replacements) for (const id of replacement.ids) ids.add(id)
  const apply = (resolve: Resolve): Buffer => {
    let length = body.length
    const work = bodyWork()
    const printed = replacements.map((replacement) => {
      const text = replacement.print(resolve, work)
      length += Buffer.byteLength(text, encoding) - (replacement.end - replacement.start)
      if (length > limit) throw tooLarge(limit)
      return text
    })
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
  return {
    kind: 'rewrite',
    ids: [...ids],
    decoded: false,
    texts: () => replacements.map(({ text }) => text),
    apply,
  }
}
