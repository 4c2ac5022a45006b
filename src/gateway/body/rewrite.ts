import { isUtf8 } from 'node:buffer'
import { codingsOf, decode } from '../../common/decode-content.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import type { Expressions } from '../../expressions/types.ts'
import { contentOf } from './content.ts'
import { BODY_LIMITS, type BodyLimits } from './limits.ts'
import { findInSlices, PASS, type Plan, planOf } from './plan.ts'
import type { ScanLimits } from './scanner.ts'
import { isWide, scannerOf } from './scanner-of.ts'

export type { BodyLimits } from './limits.ts'
export { BODY_LIMITS } from './limits.ts'
export type { Plan } from './plan.ts'

/** Content type that a UTF-8 body without a content type is read as. */
const UNTYPED = 'text/plain'

const complete = new WeakMap<BodyLimits, ScanLimits>()

/** Limits of a body that is complete: no string of it is waited for. */
const ofComplete = (limits: BodyLimits): ScanLimits => {
  let scanned = complete.get(limits)
  if (scanned === undefined) {
    scanned = { ...limits, longest: Number.POSITIVE_INFINITY }
    complete.set(limits, scanned)
  }
  return scanned
}

const planContent = (
  body: Buffer,
  contentType: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): Eventual<Plan> => {
  const untyped = contentType === undefined || contentType.trim() === ''
  if (untyped && !isUtf8(body) && !isWide(body)) return PASS
  const scanner = scannerOf(untyped ? UNTYPED : contentType, expressions, ofComplete(limits))
  if (scanner === undefined || !scanner.mayHold(body)) return PASS
  return whenReady(findInSlices(body, limits.expressions, scanner.scan), (occurrences) =>
    planOf(body, occurrences, limits.rewrittenBytes, scanner),
  )
}

/**
 * Finds the tokens that a request body names, and how their values replace expressions (completions §6, §12). Pure: no
 * token is looked up here. Headers are given as sent.
 *
 * Fails with `invalid_expression`, `malformed` (the body does not match its type or coding) and `too_large`.
 */
export const planBody = (
  body: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
  expressions: Expressions,
  limits: BodyLimits = BODY_LIMITS,
): Eventual<Plan> => {
  if (body.length === 0) return PASS
  const codings = codingsOf(contentEncoding)
  if (codings === undefined) return PASS
  if (codings.length === 0) return planContent(body, contentType, expressions, limits)
  if (contentType !== undefined && contentType.trim() !== '' && contentOf(contentType).kind === 'binary')
    return PASS
  return planDecoded(body, codings, contentType, expressions, limits)
}

const planDecoded = async (
  body: Buffer,
  codings: Parameters<typeof decode>[1],
  contentType: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): Promise<Plan> => {
  const plain = await decode(body, codings, limits.decodedBytes)
  const plan = await planContent(plain, contentType, expressions, limits)
  return plan.kind === 'rewrite' ? { ...plan, decoded: true } : plan
}
