/** Puts values in the place of a request body's expressions (completions §6 "Proxy bodies", §7). */

import { holds } from '../access/authorize.ts'
import { codingsOf, decode } from '../common/decode-content.ts'
import { AppError } from '../common/errors.ts'
import type { Expressions, Resolve } from '../expressions/types.ts'
import { bodyWork, type Work } from '../expressions/work.ts'
import type { Caller, Held, UsedToken, Vault } from '../sdk/index.ts'
import { type BodyLimits, planBody } from './body/rewrite.ts'
import type { Timed } from './timings.ts'

/** Resolves tokens for expressions. */
export const resolver =
  (tokens: ReadonlyMap<string, UsedToken>): Resolve =>
  (id) => {
    const token = tokens.get(id)
    return (
      token && {
        data: token.data,
        get token() {
          return token.whole()
        },
      }
    )
  }

export interface RequestBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

export interface Detokenized {
  /** Undefined: the bytes stay as they came. */
  readonly body: Buffer | undefined
  /** `body` has no content-encoding any more. */
  readonly decoded: boolean
  /** How many were used. */
  readonly tokens: number
}

export interface DetokenizeDeps {
  readonly vault: Pick<Vault, 'use'>
  readonly expressions: Expressions
  readonly limits: BodyLimits
  readonly timed: Timed
}

export const mayNotUse = () =>
  new AppError(
    'forbidden',
    'The body holds an expression, and nobody with the permission token:use asks for it. Send a key, or give the proxy an application.',
  )

/** Throws `forbidden` for a caller who may put no token's value into a body. */
export const checkUse = (caller: Caller): void => {
  if (!holds(caller, 'token:use')) throw mayNotUse()
}

/** The expressions that a caller may write, counted in `work`; none is compiled for one who may use no token. */
export const languageOf = (expressions: Expressions, caller: Caller, work: Work): Expressions =>
  holds(caller, 'token:use')
    ? expressions.within(work)
    : {
        ...expressions,
        parse: () => {
          throw mayNotUse()
        },
      }

/** Whether a body is worth a look: as it is, in UTF-16, as JSON or as a form it may hold `{{`. */
const mayHoldBraces = (bytes: Buffer, contentEncoding: string | undefined): boolean =>
  codingsOf(contentEncoding)?.length !== 0 ||
  ['{{', '{\0', '%7', '\\u007'].some((braces) => bytes.includes(braces))

/**
 * `acting` tells whose grants apply, and is asked only when there are expressions. Rejects with `forbidden` when those
 * hold no `token:use`, with `invalid_expression`, `malformed`, `too_large`, and what the vault rejects with.
 */
export const detokenize = async (
  { bytes, contentType, contentEncoding }: RequestBody,
  { vault, expressions, limits, timed }: DetokenizeDeps,
  acting: () => Caller | Promise<Caller>,
  context: { readonly traceId: string; readonly now: number },
): Promise<Detokenized> => {
  const unchanged: Detokenized = { body: undefined, decoded: false, tokens: 0 }
  if (!mayHoldBraces(bytes, contentEncoding)) return unchanged
  const caller = await acting()
  const work = bodyWork()
  const language = languageOf(expressions, caller, work)
  const plan = await timed('plan', () => planBody(bytes, contentType, contentEncoding, language, limits))
  if (plan.kind === 'pass') return unchanged
  const holdings: Held[] = []
  try {
    const used = await timed('use', async () =>
      plan.ids.length === 0
        ? new Map<string, UsedToken>()
        : await vault
            .use(plan.ids, { ...context, caller, work, hold: (held) => holdings.push(held) })
            .catch(async (thrown) => {
              throw await plan.located(thrown)
            }),
    )
    return {
      body: await timed('apply', () => plan.apply(resolver(used), work)),
      decoded: plan.decoded,
      tokens: used.size,
    }
  } finally {
    for (const held of holdings) held.release()
  }
}

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

/** The same for a body that is wanted without its content-encoding, whether it holds expressions or not. */
export const detokenizePlain: typeof detokenize = async (sent, deps, acting, context) => {
  const bytes = await plainBody(sent, deps.limits)
  const found = await detokenize({ ...sent, bytes, contentEncoding: undefined }, deps, acting, context)
  return { ...found, body: found.body ?? bytes }
}
