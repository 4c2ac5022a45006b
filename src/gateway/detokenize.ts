/** Puts values in the place of a request's expressions (completions §6 "Proxy bodies", §7). */

import { codingsOf, decode } from '../common/decode-content.ts'
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import type { Caller } from '../sdk/index.ts'
import type { BodyLimits } from './body/limits.ts'
import { evaluate } from './surfaces/evaluate.ts'
import type { RequestHead } from './surfaces/plan.ts'
import type { BodyContext, DetokenizeDeps, Detokenized, RequestBody } from './surfaces/types.ts'

/** Forms of `{{` or its first half: as it is, in UTF-16, as JSON and as a form. */
const BRACES = ['{{', '{\0', '%7', '\\u007'].map((braces) => Buffer.from(braces))

/** Whether a body may hold an expression. */
const mayHoldBraces = (bytes: Buffer, contentEncoding: string | undefined): boolean =>
  BRACES.some((braces) => bytes.includes(braces)) || codingsOf(contentEncoding)?.length !== 0

/** A request without expressions. */
export const UNCHANGED: Detokenized = { body: undefined, decoded: false, tokens: 0 }

/**
 * `acting` returns whose grants apply, and is asked only when there may be expressions. Fails with `forbidden` when those
 * hold no `token:use`, with `invalid_expression`, `malformed`, `too_large`, `expression_on_closed_surface`, and what the
 * vault rejects with.
 */
export const detokenize = (
  sent: RequestBody,
  deps: DetokenizeDeps,
  acting: () => Eventual<Caller>,
  context: BodyContext,
  head: RequestHead,
): Eventual<Detokenized> =>
  head.hasBraces || mayHoldBraces(sent.bytes, sent.contentEncoding)
    ? whenReady(acting(), (caller) => evaluate(caller, head, sent, deps, context))
    : UNCHANGED

/** A body without its content-encoding. Rejects with `unsupported_media_type` for one that is not known. */
export const plainBody = async (
  { bytes, contentEncoding }: RequestBody,
  limits: BodyLimits,
): Promise<Buffer> => {
  const codings = codingsOf(contentEncoding)
  if (codings === undefined)
    throw new AppError(
      'unsupported_media_type',
      'The body has a content-encoding that cannot be undone. Send it as gzip, deflate, br, or as it is.',
    )
  return codings.length === 0 ? bytes : decode(bytes, codings, limits.decodedBytes)
}

/** Detokenizes a body and returns it without its content-encoding, whether it holds expressions or not. Fails as `detokenize` does. */
export const detokenizePlain: typeof detokenize = async (sent, deps, acting, context, head) => {
  const bytes = await plainBody(sent, deps.limits)
  const found = await detokenize({ ...sent, bytes, contentEncoding: undefined }, deps, acting, context, head)
  return { ...found, body: found.body ?? bytes }
}
