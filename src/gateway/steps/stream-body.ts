/** A body that goes out while it comes in (docs/guides/streaming.md). */
import { growingWork } from '../../expressions/work.ts'
import type { UsedToken } from '../../sdk/index.ts'
import { createPartReader } from '../body/parts.ts'
import { merged } from '../headers.ts'
import { checkUse, languageOf } from '../language.ts'
import type { Outgoing, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { first } from '../steps.ts'
import { pipeBody } from '../streaming/pipe-body.ts'
import { checkClosed, createClosedReader } from '../surfaces/closed.ts'
import type { BodyStream, ExtProcReply } from '../types.ts'
import { actOnHead, effectiveCaller, effectiveCallerNow } from './act.ts'
import { apply, checkPaths } from './apply.ts'
import { check, checkBatch } from './check.ts'
import { dialedUpstream } from './dial.ts'
import { headEdits, modeOverrideOf, withSearchableResponse } from './forward.ts'
import { plan } from './plan.ts'
import { signHead } from './sign-head.ts'
import { checkGuarded, use, useContextOf } from './use.ts'

/** Values for headers, path and query, before the body begins. */
const evaluateHead = first(actOnHead).next(plan).next(check).next(use).next(apply).next(signHead)

/** The reply that lets the request go, before its body. */
const release = async (request: Outgoing, context: RequestContext): Promise<ExtProcReply> => {
  const { guard, edits: own } = request
  const headers = merged(headEdits(request, context), guard.isAsked ? withSearchableResponse(own) : own)
  const edits = context.trace.release(headers, request.destination.host, request.stripped)
  const dialed = await dialedUpstream(request, context)
  const mark = context.expectEnd()
  context.telemetry.released('forwarded')
  const modeOverride = modeOverrideOf(request, context)
  return { kind: 'continue', prefix: context.prefix, edits, modeOverride, mark, ...dialed }
}

const headOf = async (request: Resolved, context: RequestContext): Promise<Outgoing> =>
  context.timeout.within(context.gateway.options.stepMs, (async () => evaluateHead(request, context))())

/** Uses the tokens of one batch. The caller is looked up for each: a body may take minutes. */
const useBatch = async (
  ids: readonly string[],
  request: Outgoing,
  context: RequestContext,
): Promise<ReadonlyMap<string, UsedToken>> => {
  const { deps } = context.gateway
  const caller = await effectiveCallerNow(request, context)
  if (!request.surfaces.includes('body')) {
    await checkClosed(deps.vault, [{ place: 'body', ids }], { caller, now: deps.clock.now() })
    return new Map()
  }
  checkUse(caller)
  if (ids.length === 0) return new Map()
  if (context.gateway.checks !== undefined) await checkBatch(request, ids, context)
  const used = await deps.vault.use(ids, { ...useContextOf(request, context), caller })
  checkGuarded(request, used, context)
  context.telemetry.tokens += used.size
  if (request.hasBraces) checkPaths(used, request.url ?? request.path)
  return used
}

/** Resolves when the request is released. */
export const streamNoBody = async (
  request: Resolved,
  context: RequestContext,
  flow: BodyStream,
): Promise<void> => flow.write(await release(await headOf(request, context), context))

/** Resolves when the body is complete. Rejects with what is wrong with it, and when the caller goes. */
export const streamBody = async (
  request: Resolved,
  context: RequestContext,
  flow: BodyStream,
): Promise<void> => {
  const { deps, options } = context.gateway
  const work = growingWork()
  const language = languageOf(deps.expressions, await effectiveCaller(request, context), work)
  const { contentType, contentEncoding, surfaces } = request
  const outgoing = await headOf(request, context)
  const { timeout, timed } = context
  return pipeBody({
    flow,
    reader: surfaces.includes('body')
      ? createPartReader(contentType, contentEncoding, language, options.body)
      : createClosedReader(contentType, contentEncoding),
    work,
    limits: options.upload,
    timeoutMs: options.stepMs / 2,
    disclosures: context.disclosures,
    use: (ids) =>
      timeout.within(
        options.stepMs,
        timed('use', () => useBatch(ids, outgoing, context)),
      ),
    release: async () => {
      const reply = await release(outgoing, context)
      if (reply.kind !== 'continue') throw new Error('a streamed request was not released')
      // The announced length is not the one that it will have.
      const edits = { ...reply.edits, remove: [...reply.edits.remove, 'content-length'] }
      await flow.write({ ...reply, edits })
    },
  })
}
