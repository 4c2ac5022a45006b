import type { Json } from '../../../src/common/json.ts'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import type { Resolve } from '../../../src/expressions/types.ts'
import { bodyWork } from '../../../src/expressions/work.ts'
import { createPartReader } from '../../../src/gateway/body/parts.ts'
import { BODY_LIMITS, type BodyLimits, type Plan, planBody } from '../../../src/gateway/body/rewrite.ts'

export const expressions = createExpressions()

export const CARD = { number: '4242424242424242', expiration_month: 11, cvc: '123' }

/** Values by token id; `text` needs escaping wherever it goes, `evil` looks like an expression. */
export const VALUES: Readonly<Record<string, Json>> = {
  pan: '4242424242424242',
  card: CARD,
  ten: 10,
  yes: true,
  none: null,
  text: 'a "quoted" \\ & <b> = ü€💳 +%7B%7B \u2028\n',
  evil: '{{ pan }}{% if true %}x{% endif %}\\u007b{',
  'it é': 'odd id',
}

export const resolve: Resolve = (id) =>
  Object.hasOwn(VALUES, id)
    ? { data: VALUES[id] as Json, token: { id, data: VALUES[id] as Json } }
    : undefined

export const plan = (
  body: string | Buffer,
  type: string | undefined,
  encoding?: string,
  limits?: BodyLimits,
): Promise<Plan> =>
  Promise.resolve().then(() => planBody(Buffer.from(body as string), type, encoding, expressions, limits))

/** The bytes that would be sent. */
export const rewritten = async (
  body: string | Buffer,
  type: string | undefined,
  encoding?: string,
): Promise<Buffer> => {
  const result = await plan(body, type, encoding)
  return result.kind === 'pass' ? Buffer.from(body as string) : result.apply(resolve)
}

/** A text for a test's name: one line of ASCII, which is what every reader of TAP agrees on. */
export const show = (text: string): string =>
  JSON.stringify(text).replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)

/** What is sent of a body that comes in these parts. */
export const inParts = (
  parts: readonly Buffer[],
  type: string,
  limits: BodyLimits = BODY_LIMITS,
  resolved: Resolve = resolve,
): Buffer => {
  const reader = createPartReader(type, undefined, expressions, limits)
  const sent: Buffer[] = []
  for (const [at, part] of parts.entries()) {
    const { bytes, occurrences } = reader.push(part, at === parts.length - 1)
    let from = 0
    for (const { start, end, parse } of occurrences) {
      sent.push(
        bytes.subarray(from, start),
        Buffer.from(parse().print(resolved, bodyWork()), reader.encoding),
      )
      from = end
    }
    sent.push(bytes.subarray(from))
  }
  return Buffer.concat(sent)
}

/** `body` cut at these places. */
export const cut = (body: Buffer, places: readonly number[]): Buffer[] => {
  const sorted = [...new Set(places.map((place) => place % (body.length + 1)))].sort((a, b) => a - b)
  return [...sorted, body.length].map((end, at) => body.subarray(sorted[at - 1] ?? 0, end))
}
