/** Values for the expressions on all surfaces of a request, by one plan. */
import { bodyWork } from '../../expressions/work.ts'
import type { Caller, Held, UsedToken } from '../../sdk/index.ts'
import { languageOf, resolver } from '../language.ts'
import { checkClosed } from './closed.ts'
import { planRequest, type RequestHead } from './plan.ts'
import type { BodyContext, DetokenizeDeps, Detokenized, RequestBody } from './types.ts'

/** Throws `destination_not_allowed` for a token that may not go to this path and query, in which values stand. */
export const checkPaths = (used: ReadonlyMap<string, UsedToken>, path: string): void => {
  for (const token of used.values()) token.checkPath?.(path)
}

const NOTHING = new Map<string, UsedToken>()

/** Fails as `planRequest` does, and with what the vault rejects with. `sent`: undefined when the body is streamed. */
export const evaluate = async (
  caller: Caller,
  request: RequestHead,
  sent: RequestBody | undefined,
  { vault, expressions, limits, timed }: DetokenizeDeps,
  call: BodyContext,
): Promise<Detokenized> => {
  const work = bodyWork()
  const language = languageOf(expressions, caller, work)
  const plan = await timed('plan', () => planRequest(request, sent, language, limits))
  const { head, body, ids, surfacesOf } = plan
  await checkClosed(vault, plan.closed, { caller, now: call.now })
  const holdings: Held[] = []
  const hold = (held: Held) => holdings.push(held)
  const release = () => {
    for (const held of holdings) held.release()
  }
  try {
    const context = { ...call, caller, work, hold, surfacesOf, copies: head?.copies }
    const used =
      ids.length === 0
        ? NOTHING
        : await timed('use', () => vault.use(ids, context)).catch(async (thrown) => {
            throw await plan.located(thrown)
          })
    const resolve = resolver(used)
    const replaced = body.kind === 'pass' ? undefined : await timed('apply', () => body.apply(resolve, work))
    const found = {
      body: replaced,
      decoded: body.kind === 'rewrite' && body.decoded,
      tokens: used.size,
    }
    if (head === undefined) {
      release()
      return found
    }
    // Before code runs: what cannot be a URL must not be called by it either.
    const url = await head.url(resolver(used, 'url'), work)
    try {
      checkPaths(used, url)
    } catch (thrown) {
      throw await plan.located(thrown)
    }
    return {
      ...found,
      head: {
        apply: async (edits, bytes) => {
          const { set, remove } = await head.headers(edits, bytes, resolve, work)
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
