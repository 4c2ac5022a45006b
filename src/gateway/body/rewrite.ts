import { isUtf8 } from 'node:buffer'
import type { Expressions } from '../../expressions/types.ts'
import { type Content, contentOf } from './content.ts'
import { codingsOf, decode } from './decode.ts'
import { planForm } from './form.ts'
import { planJson } from './json.ts'
import { BODY_LIMITS, type BodyLimits } from './limits.ts'
import { PASS, type Plan } from './plan.ts'
import { planText } from './text.ts'

export type { BodyLimits } from './limits.ts'
export { BODY_LIMITS } from './limits.ts'
export type { Plan } from './plan.ts'

const UNTYPED: Content = { kind: 'text', charset: 'utf8' }

const planContent = async (
  body: Buffer,
  contentType: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): Promise<Plan> => {
  const untyped = contentType === undefined || contentType.trim() === ''
  const { kind, charset } = untyped ? UNTYPED : contentOf(contentType)
  if (kind === 'json') return planJson(body, expressions, limits)
  if (kind === 'form') return planForm(body, expressions, limits)
  if (kind === 'binary' || (untyped && !isUtf8(body))) return PASS
  return planText(body, charset, expressions, limits)
}

/**
 * Reads a request body and tells which tokens it names and how to put their values in (completions §6, §12). Pure: no
 * token is looked up here. Headers are given as sent.
 *
 * Rejects with `bad_expression`, `malformed` (not the JSON or coding it claims to be) and `too_large`.
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
