/**
 * One plan for all surfaces of a request (completions §13): the tokens that they name, read together, and what takes
 * the place of their expressions.
 */
import { withPlaces } from '../../common/error-places.ts'
import { AppError } from '../../common/errors.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { Surface } from '../../sdk/index.ts'
import type { BodyLimits } from '../body/limits.ts'
import type { RequestBody } from '../body/plain.ts'
import { PASS, type Plan } from '../body/plan.ts'
import { planBody } from '../body/rewrite.ts'
import { type ClosedText, closedBody, closedText } from './closed.ts'
import { type HeaderSource, type HeadersPlan, planHeaders } from './headers.ts'
import type { SurfaceText } from './surface-text.ts'
import { planUrl, type UrlPlan } from './url.ts'

/** A request beside its body. */
interface RequestHead extends HeaderSource {
  /** Path and query as they go out, expressions included. */
  readonly path: string
  readonly surfaces: readonly Surface[]
  /** A header, the path or the query may hold an expression. */
  readonly hasBraces: boolean
}

interface HeadPlan {
  readonly texts: readonly SurfaceText[]
  /** `HeadersPlan.copies`. */
  readonly copies: readonly Surface[]
  readonly closed: readonly ClosedText[]
  /** `UrlPlan.build`. */
  readonly url: UrlPlan['build']
  /** `HeadersPlan.apply`. */
  readonly headers: HeadersPlan['apply']
}

export interface RequestPlan {
  /** Undefined: no expressions in headers, path and query. */
  readonly head: HeadPlan | undefined
  readonly body: Plan
  readonly closed: readonly ClosedText[]
  /** Each once. */
  readonly ids: readonly string[]
  surfacesOf(id: string): readonly Surface[]
  /** The texts with expressions, decoded. */
  texts(): readonly string[]
  /** An error about tokens, with the places that name them. */
  located(thrown: unknown): Promise<unknown>
}

/** Throws `invalid_expression`. */
const planHead = (request: RequestHead, expressions: Expressions): HeadPlan => {
  const { path, surfaces } = request
  const url = planUrl(path, surfaces, (text) => expressions.parse(text))
  const headers = planHeaders(request, surfaces, (text, seen) => expressions.parse(text, undefined, seen))
  return {
    texts: [...url.texts, ...headers.texts],
    copies: headers.copies,
    closed: [...url.closed, ...headers.closed].map(closedText),
    url: url.build,
    headers: headers.apply,
  }
}

const idsOf = (texts: readonly SurfaceText[], body: Plan): ReadonlyMap<string, Surface[]> => {
  const surfaces = new Map<string, Surface[]>()
  if (body.kind === 'rewrite') for (const id of body.ids) surfaces.set(id, ['body'])
  for (const { ids, surface } of texts)
    for (const id of ids) {
      const known = surfaces.get(id)
      if (known === undefined) surfaces.set(id, [surface])
      else if (!known.includes(surface)) known.push(surface)
    }
  return surfaces
}

/** The plan of a head and a body that were planned; `closed`: what of the body is not evaluated. */
const joined = (head: HeadPlan | undefined, body: Plan, closed: readonly ClosedText[]): RequestPlan => {
  const texts = head?.texts ?? []
  const surfaces = idsOf(texts, body)
  return {
    head,
    body,
    closed: [...(head?.closed ?? []), ...closed],
    ids: [...surfaces.keys()],
    surfacesOf: (id) => surfaces.get(id) ?? [],
    texts: () => [...texts.flatMap(({ texts }) => texts), ...(body.kind === 'rewrite' ? body.texts() : [])],
    located: async (thrown) => {
      if (!(thrown instanceof AppError) || thrown.tokens === undefined) return thrown
      const inBody = body.kind === 'rewrite' ? AppError.from(await body.located(thrown)).errors : undefined
      const tokens = new Set(thrown.tokens)
      const places = texts.filter(({ ids }) => ids.some((id) => tokens.has(id))).map((text) => text.surface)
      const located = withPlaces(thrown, places)
      return new AppError(located.code, located.message, {
        errors: { ...located.errors, ...inBody },
        ...(located.retryAfter === undefined ? {} : { retryAfter: located.retryAfter }),
      })
    },
  }
}

/**
 * Finds the expressions of a request; pure, as `planBody` is. `sent`: its complete body; undefined: the body is
 * streamed, and planned part by part. Fails with `invalid_expression`, `malformed` and `too_large`.
 */
export const planRequest = async (
  request: RequestHead,
  sent: RequestBody | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): Promise<RequestPlan> => {
  const head = request.hasBraces ? planHead(request, expressions) : undefined
  if (sent === undefined) return joined(head, PASS, [])
  const { bytes, contentType, contentEncoding } = sent
  if (request.surfaces.includes('body'))
    return joined(head, await planBody(bytes, contentType, contentEncoding, expressions, limits), [])
  return joined(head, PASS, [await closedBody(sent, limits.decodedBytes)])
}
