/** Values for the expressions on all surfaces of a request, by one plan. */
import type { Eventual } from '../../common/eventual.ts'
import { bodyWork, type Work } from '../../expressions/work.ts'
import type { Caller, Held, UsedToken } from '../../sdk/index.ts'
import { languageOf, resolver } from '../language.ts'
import { checkClosed } from './closed.ts'
import { planRequest, planStreamedHead, type RequestHead, type RequestPlan } from './plan.ts'
import type { BodyContext, DetokenizeDeps, Detokenized, RequestBody } from './types.ts'

/** Throws `destination_not_allowed` for a token that may not go to this path and query, in which values stand. */
export const checkPaths = (used: ReadonlyMap<string, UsedToken>, path: string): void => {
  for (const token of used.values()) token.checkPath?.(path)
}

const NOTHING = new Map<string, UsedToken>()

/** A request with a complete body. */
export const evaluateAs = (
  caller: Caller,
  head: RequestHead,
  sent: RequestBody,
  deps: DetokenizeDeps,
  context: BodyContext,
): Promise<Detokenized> => {
  const work = bodyWork()
  const language = languageOf(deps.expressions, caller, work)
  const planning = deps.timed('plan', () => planRequest(head, sent, language, deps.limits))
  return evaluatePlan(caller, planning, work, deps, context)
}

/** The head of a request whose body is streamed: its URL and headers do not depend on the body. */
export const evaluateHead = async (
  caller: Caller,
  head: RequestHead,
  deps: Omit<DetokenizeDeps, 'limits'>,
  context: BodyContext,
): Promise<Detokenized> => {
  const work = bodyWork()
  const plan = planStreamedHead(head, languageOf(deps.expressions, caller, work))
  return evaluatePlan(caller, plan, work, deps, context)
}

const evaluatePlan = async (
  caller: Caller,
  planning: Eventual<RequestPlan>,
  work: Work,
  { vault, timed }: Pick<DetokenizeDeps, 'vault' | 'timed'>,
  call: BodyContext,
): Promise<Detokenized> => {
  const plan = await planning
  const { ids, surfacesOf } = plan
  await checkClosed(vault, plan.closed, { caller, now: call.now })
  const holdings: Held[] = []
  const hold = (held: Held) => holdings.push(held)
  const release = () => {
    for (const held of holdings) held.release()
  }
  try {
    const context = { ...call, caller, work, hold, surfacesOf, copies: plan.head.copies }
    const used =
      ids.length === 0
        ? NOTHING
        : await timed('use', () => vault.use(ids, context)).catch(async (thrown) => {
            throw await plan.located(thrown)
          })
    const resolve = resolver(used)
    const { body } = plan
    const replaced = body.kind === 'pass' ? undefined : await timed('apply', () => body.apply(resolve, work))
    // Before code runs: what cannot be a URL must not be called by it either.
    const url = await plan.head.url(resolver(used, 'url'), work)
    try {
      checkPaths(used, url)
    } catch (thrown) {
      throw await plan.located(thrown)
    }
    return {
      body: replaced,
      decoded: body.kind === 'rewrite' && body.decoded,
      tokens: used.size,
      head: {
        apply: async (edits, bytes) => {
          const { set, remove } = await plan.head.headers(edits, bytes, resolve, work)
          return { set: new Map([...set, [':path', url]]), remove }
        },
        release,
      },
    }
  } catch (thrown) {
    release()
    throw thrown
  }
}
