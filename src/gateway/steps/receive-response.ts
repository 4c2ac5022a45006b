/** The response of a guarded call, as it goes to the search (guard-response.ts): after its transform, if it has one. */
import { AppError } from '../../common/errors.ts'
import type { Edits, Head } from '../headers.ts'
import { SLOW_RESPONSE } from '../held-memory.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { collectible, responseStatus, responseTooLarge } from '../transform/response.ts'
import type { ResponseChunk, ResponseFlow } from '../types.ts'
import { runResponseTransform } from './transform-response.ts'

/** A response whose headers have come. */
interface ArrivedResponse {
  readonly request: Resolved
  readonly head: Head
  readonly hasBody: boolean
  readonly flow: ResponseFlow
}

/** A response as the caller would get it. */
export interface Response extends ArrivedResponse {
  /** Envoy's own. */
  readonly isLocal: boolean
  /** What makes `head` of the destination's. */
  readonly edits: Edits
  readonly body: Pick<ResponseFlow, 'read'>
}

const NO_EDITS: Edits = { set: new Map(), remove: [] }

/** Notes the destination's status. */
export const receiveResponse = (
  arrived: ArrivedResponse,
  { telemetry, prefix, trace }: RequestContext,
): Response => {
  const { head, flow } = arrived
  const status = responseStatus(head, prefix)
  telemetry.destinationStatus = status
  if (status !== undefined) trace.responded(Number(status))
  return { ...arrived, isLocal: status === undefined, edits: NO_EDITS, body: flow }
}

/** The complete body. Rejects with `destination_timeout`, and with `bad_gateway` when it is larger than code takes. */
const collected = async (
  { head, flow }: Response,
  { gateway: { bodyLimit, options }, memory }: RequestContext,
): Promise<ResponseChunk> => {
  const announced = head.get('content-length')?.[0]
  memory.resize(announced === undefined ? undefined : Number(announced))
  const end = performance.now() + options.responseMs
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const chunk = await flow.read(Math.max(0, end - performance.now()))
    if (chunk === undefined) throw new AppError('destination_timeout', SLOW_RESPONSE)
    chunks.push(chunk.bytes)
    size += chunk.bytes.length
    if (size > bodyLimit) throw responseTooLarge(bodyLimit)
    memory.resize(size)
    if (chunk.isLast) return { ...chunk, bytes: Buffer.concat(chunks, size) }
  }
}

/** The headers with these edits. */
const edited = (head: Head, { set, remove }: Edits): Head => {
  const result = new Map(head)
  for (const name of remove) result.delete(name)
  for (const [name, value] of set) result.set(name, [value].flat())
  return result
}

/** Runs the response transform, where one applies. Rejects as it does. */
export const transformGuarded = async (response: Response, context: RequestContext): Promise<Response> => {
  const { request, head, hasBody, isLocal } = response
  const { gateway, telemetry, timeout } = context
  const { proxy } = request
  if (proxy?.responseTransform === undefined || isLocal || !hasBody) return response
  const what = collectible(head, telemetry.destinationStatus, proxy.responseOtherwise, gateway.bodyLimit)
  if (what === undefined) return response
  const chunk = await collected(response, context)
  const run = runResponseTransform({ request, collected: what, bytes: chunk.bytes }, context)
  const result = await timeout.within(gateway.options.codeStepMs, run)
  const body = { read: async () => ({ ...chunk, bytes: result?.body ?? chunk.bytes }) }
  if (result === undefined) return { ...response, body }
  // Envoy sends a body that comes in pieces without a length.
  const set = new Map([...result.edits.set].filter(([name]) => name !== 'content-length'))
  const edits = { set, remove: [...result.edits.remove, 'content-length'] }
  return { ...response, head: edited(head, edits), edits, body }
}
