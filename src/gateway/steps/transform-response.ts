/** The code of a stored proxy on a response (interface, "Proxy transforms"; completions §7). */
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { type CollectedResponse, transformResponse as runOnResponse } from '../transform/response.ts'
import type { Transformed } from '../transform/run.ts'
import type { ExtProcReply } from '../types.ts'
import { admitCode, codeRunOf } from './transform.ts'
import { codeScopeOf } from './use.ts'

/** A response whose body is complete. */
export interface CompleteResponse {
  readonly request: Resolved
  readonly collected: CollectedResponse
  readonly bytes: Buffer
}

/**
 * What the transform makes of the response; undefined for an empty body, which passes. Rejects as the transform does,
 * and with `rate_limited` when none can run: nothing of the destination's response is passed on.
 */
export const runResponseTransform = async (
  { request, collected, bytes }: CompleteResponse,
  context: RequestContext,
): Promise<Transformed | undefined> => {
  const { proxy } = request
  if (proxy === undefined) throw new Error('a response transform without a proxy')
  const { memory, gateway, trace } = context
  trace.endDestination()
  memory.stopWaiting()
  memory.resize(bytes.length)
  const settings = {
    ...codeRunOf(request, context),
    code: gateway.deps.code,
    proxy,
    scope: codeScopeOf(request, context),
  }
  if (bytes.length === 0) return undefined
  return admitCode(request, proxy, context, {
    bytes: bytes.length,
    run: () => runOnResponse(collected, bytes, settings),
  })
}

/** Replaces the response by the result of its transform. Rejects as `runResponseTransform` does. */
export const transformResponse = async (
  response: CompleteResponse,
  context: RequestContext,
): Promise<ExtProcReply> => {
  const result = await runResponseTransform(response, context)
  return result === undefined ? { kind: 'continueResponse' } : { kind: 'replaceResponse', ...result }
}
