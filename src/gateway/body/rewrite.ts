import { isUtf8 } from 'node:buffer'
import { codingsOf, decode } from '../../common/decode-content.ts'
import type { Expressions } from '../../expressions/types.ts'
import { contentOf } from './content.ts'
import { BODY_LIMITS, type BodyLimits } from './limits.ts'
import { findInSlices, PASS, type Plan, planOf } from './plan.ts'
import { scannerOf } from './scanner-of.ts'

export type { BodyLimits } from './limits.ts'
export { BODY_LIMITS } from './limits.ts'
export type { Plan } from './plan.ts'

/** Of a body without a content type that is UTF-8. */
const UNTYPED = 'text/plain'

const planContent = async (
  body: Buffer,
  contentType: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): Promise<Plan> => {
  const untyped = contentType === undefined || contentType.trim() === ''
  if (untyped && !isUtf8(body)) return PASS
  const scanner = scannerOf(untyped ? UNTYPED : contentType, expressions, {
    ...limits,
    longest: Number.POSITIVE_INFINITY,
  })
  if (scanner === undefined || !scanner.mayHold(body)) return PASS
  const found = await findInSlices(body, limits.expressions, scanner.scan)
  return planOf(body, found, limits.rewrittenBytes, scanner)
}

/**
 * Reads a request body and tells which tokens it names and how to put their values in (completions §6, §12). Pure: no
 * token is looked up here. Headers are given as sent.
 *
 * Rejects with `invalid_expression`, `malformed` (not what its type or coding says) and `too_large`.
 */
export const planBody = async (
  body: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
  expressions: Expressions,
  limits: BodyLimits = BODY_LIMITS,
): Promise<Plan> => {
  if (body.length === 0) return PASS
  const codings = codingsOf(contentEncoding)
  if (codings === undefined) return PASS
  if (codings.length === 0) return planContent(body, contentType, expressions, limits)
  if (contentType !== undefined && contentType.trim() !== '' && contentOf(contentType).kind === 'binary')
    return PASS
  const plain = await decode(body, codings, limits.decodedBytes)
  const plan = await planContent(plain, contentType, expressions, limits)
  return plan.kind === 'rewrite' ? { ...plan, decoded: true } : plan
}
