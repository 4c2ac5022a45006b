import { resolver } from '../language.ts'
import type { Outgoing } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

const NO_BODY = Buffer.alloc(0)

const signed = async <T extends Outgoing>(request: T, url: string, context: RequestContext): Promise<T> => {
  const { plan, acting, used, body, sent, edits } = request
  if (plan?.head === undefined || acting === undefined) throw new Error('a URL with values without a plan')
  const bytes = body ?? sent?.bytes ?? NO_BODY
  const { set, remove } = await plan.head.headers(
    edits,
    bytes,
    resolver(used, { disclosures: context.disclosures }),
    acting.work,
  )
  context.releaseValues()
  return { ...request, edits: { set: new Map([...set, [':path', url]]), remove } }
}

/**
 * Evaluates headers, behind the transform: they may sign its body. Rejects with `invalid_expression` and
 * `headers_too_large`.
 */
export const signHead = <T extends Outgoing>(request: T, context: RequestContext): T | Promise<T> =>
  request.url === undefined ? request : signed(request, request.url, context)
